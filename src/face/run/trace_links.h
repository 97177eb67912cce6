// The use of the simulated links, in a Chrome trace.

#pragma once

#include "base/time.h"
#include "record/chrome_trace.h"
#include "sim/transfers.h"

namespace outpace::run {

// Adds the use of each link that carried anything. `ended`: the run's end, on the run's clock.
void trace_links(const sim::Transfers::Options& links, Time ended, record::ChromeTrace& trace);

}  // namespace outpace::run

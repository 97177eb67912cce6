// How long workers compute whose runtimes are drawn from distributions: what coarse models know of
// it, from samples.

#pragma once

#include <vector>

#include "sim/runtimes.h"
#include "throughput/computing.h"

namespace outpace::throughput {

// Of runtimes that come and go with a worker's iterations, one period of many draws, far apart.
// Where they hang on the time as well, as when a worker is slow for a minute, a period is a moment,
// and there are many: what is fast or slow at one time together stays together.
// `factors`: of each worker. REQUIRES: one for each worker.
[[nodiscard]] Computing computing_of_runtimes(const sim::Runtimes& runtimes,
                                              const std::vector<double>& factors);

}  // namespace outpace::throughput

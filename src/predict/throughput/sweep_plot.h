// Predictions of clusters as a picture: examples per second against workers.

#pragma once

#include <string>

#include "throughput/measured_profile.h"
#include "throughput/sweep.h"

namespace outpace::throughput {

// An SVG document.
[[nodiscard]] std::string sweep_plot(const Sweep& sweep, const MeasuredProfile& profile);

}  // namespace outpace::throughput

// Predictions of clusters as a picture: examples per second against workers.

#pragma once

#include <string>

#include "throughput/measured_profile.h"
#include "throughput/sweep.h"

namespace outpace::cli {

// An SVG document.
[[nodiscard]] std::string sweep_plot(const throughput::Sweep& sweep,
                                     const throughput::MeasuredProfile& profile);

}  // namespace outpace::cli

// Computing times for the coarse models, sampled from distributions of runtimes.

#pragma once

#include <vector>

#include "sim/runtimes.h"
#include "throughput/computing.h"

namespace outpace::throughput {

// If runtimes depend on a worker's iterations only, the result is one period of many draws, far
// apart. If they also depend on time, as when a worker is slow for a minute, each period is one
// moment, and there are many, so that workers that are slow at the same time stay so together.
// `factors` multiply each worker's times. REQUIRES: one factor per worker.
[[nodiscard]] Computing computing_of_runtimes(const sim::Runtimes& runtimes,
                                              const std::vector<double>& factors);

}  // namespace outpace::throughput

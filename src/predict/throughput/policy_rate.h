// The rate of gradients that a policy's own code takes from workers without links and a server that
// takes no time.
//
// The coarse models use it for barriers that no formula knows, such as a bound on staleness. It is
// a small simulation: a queue of the workers' next arrivals, in which each arrival is decided by
// the policy.

#pragma once

#include <cstdint>
#include <functional>

#include "base/spec.h"

namespace outpace::throughput {

struct PolicyRateOptions {
  Spec policy;
  std::uint32_t workers;
  // Seconds of a worker's mini-batch; above 0, and a pure function.
  std::function<double(std::uint32_t worker, std::uint64_t iteration)> seconds;
  std::uint64_t gradients;  // To be taken in all; the first fifth does not count.
};

// Accepted mini-batches a second; a partial gradient counts by its part. REQUIRES: policy and
// workers suit each other; at least ten gradients.
[[nodiscard]] double policy_rate(const PolicyRateOptions& options);

}  // namespace outpace::throughput

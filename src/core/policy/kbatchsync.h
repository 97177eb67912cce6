// K-batch-sync SGD: an update is the first k gradients on one version, and who is done computes
// another mini-batch on the same version until there are k.
//
//   w(j+1) = w(j) - eta * 1/k * sum over the k first mini-batches of g(w(j)),   tau = 0 always
//
// Dutta et al., "Slow and Stale Gradients Can Win the Race" (AISTATS 2018), section 2. A worker may
// be in an update more than once; what is not done at the k-th gradient is cancelled. With P
// workers and exponential runtimes of rate mu an update takes k / (P mu) on average.

#pragma once

#include <cstdint>

#include "policy/round.h"

namespace outpace::policy {

class KBatchSync final : public Round {
 public:
  struct Options {
    std::uint32_t k;  // Gradients per update; at least 1.
  };

  explicit KBatchSync(Options options) : Round(options.k, Answers::kAgain) {}
};

}  // namespace outpace::policy

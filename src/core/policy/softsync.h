// n-softsync: an update is the next c gradients to arrive, and nobody waits.
//
//   g(i) = 1/c * sum over k = 1..c of alpha(tau_k) * g_k,   w(i+1) = w(i) - g(i),
//   c = max(1, floor(lambda / n)),   lambda the live workers (learners)
//
// Zhang, Gupta, Lian, Liu, "Staleness-aware Async-SGD for Distributed Deep Learning" (IJCAI 2016),
// section 2; alpha(tau) is the staleness rule `inverse`. A fast worker may be in one update twice.
// Mean tau = (lambda - 1) / c whatever the runtimes are; the paper's "tau <= 2n" holds only while
// the workers are nearly equal. n = 1 waits for lambda gradients, not for lambda learners;
// n = lambda is async.

#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/first_come.h"

namespace outpace::policy {

class Softsync final : public FirstCome {
 public:
  struct Options {
    std::uint32_t splits;  // The paper's n; at least 1.
  };

  explicit Softsync(Options options) : options_(options) {}

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return std::max(1U, workers / options_.splits);
  }

 private:
  // Constant after construction.
  const Options options_;
};

}  // namespace outpace::policy

// n-softsync: an update is c gradients from whoever comes, and nobody waits.
//
//   g(i) = 1/c * sum over k = 1..c of alpha(tau_k) * g_k,   w(i+1) = w(i) - g(i),
//   c = max(1, floor(lambda / n)),   lambda the live workers (learners)
//
// Zhang, Gupta, Lian, Liu, "Staleness-aware Async-SGD for Distributed Deep Learning" (IJCAI 2016),
// section 2; alpha(tau) is the staleness rule `inverse`. A fast worker may be in one update twice.
// Mean tau = (lambda - 1) / c whatever the runtimes are; the paper's "tau <= 2n" holds only while
// the workers are nearly equal. n = 1 waits for lambda gradients, not
// for lambda learners; n = lambda is async.

#pragma once

#include <cstdint>

#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

class Softsync final : public Policy {
 public:
  struct Options {
    std::uint32_t splits;  // The paper's n; at least 1.
  };

  explicit Softsync(Options options);

  void decide(Time now, const Event& event, Decision& out) override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;

 private:
  struct Worker {
    std::uint64_t version = 0;  // At its last release.
  };

  void arrive(const GradientArrived& event, Decision& out);
  void release(WorkerId worker, Decision& out);
  // Membership changes the cutoff, so that a departure may commit what had been waiting.
  void commit_if_full(Decision& out);

  // Constant after construction.
  const Options options_;

  Members<Worker> workers_;
  std::uint64_t version_ = 0;   // Commits so far.
  std::uint32_t accepted_ = 0;  // Since the last commit.
};

}  // namespace outpace::policy

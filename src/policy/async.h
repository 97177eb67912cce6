// Asynchronous SGD: every gradient is an update, and nobody waits.
//
//   w(t+1) = w(t) - eta * g_k(w(t - tau))
//
// "Downpour SGD" that fetches and pushes at every mini-batch, in Dean et al., "Large Scale
// Distributed Deep Networks" (NIPS 2012), section 4.1. With N workers mean tau = N - 1 whatever the
// runtimes are; a slow worker's own tau has no bound.

#pragma once

#include <cstdint>

#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

class Async final : public Policy {
 public:
  void decide(Time now, const Event& event, Decision& out) override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;

 private:
  struct Worker {
    std::uint64_t version = 0;  // At its last release.
  };

  void arrive(const GradientArrived& event, Decision& out);
  void release(WorkerId worker, Decision& out);

  Members<Worker> workers_;
  std::uint64_t version_ = 0;  // Commits so far.
};

}  // namespace outpace::policy

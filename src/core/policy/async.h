// Asynchronous SGD: every gradient is an update, and nobody waits.
//
//   w(t+1) = w(t) - eta * g_k(w(t - tau))
//
// "Downpour SGD" that fetches and pushes at every mini-batch, in Dean et al., "Large Scale
// Distributed Deep Networks" (NIPS 2012), section 4.1. With N workers mean tau = N - 1 whatever the
// runtimes are; a slow worker's own tau has no bound.

#pragma once

#include <cstdint>

#include "policy/first_come.h"

namespace outpace::policy {

class Async final : public FirstCome {
 public:
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t /*workers*/) const override { return 1; }
};

}  // namespace outpace::policy

// Synchronous SGD: an update waits for a gradient from everybody.
//
//   w(t+1) = w(t) - eta * 1/N * sum over all N workers of g_k(w(t)),   tau = 0 always
//
// "Sync-Opt" in Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD"
// (2016); "hardsync" in Zhang, Gupta, Lian, Liu, "Staleness-aware Async-SGD for Distributed Deep
// Learning" (IJCAI 2016), section 2; bulk synchronous parallel elsewhere. As fast as the slowest.
//
// N is the number of live workers. A worker that joins counts from the round it joins in. If a
// worker leaves after its gradient was taken up, the gradient stays in the update.

#pragma once

#include <cstdint>

#include "policy/round.h"

namespace outpace::policy {

class Sync final : public Round {
 public:
  Sync() : Round(UINT32_MAX) {}
};

}  // namespace outpace::policy

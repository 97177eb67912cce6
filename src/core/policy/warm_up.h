// Which workers are cold. The first mini-batches of a process take longer, because it loads,
// compiles and fills caches. They say nothing about the next ones.

#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "policy/policy.h"

namespace outpace::policy {

class WarmUp {
 public:
  static constexpr std::uint32_t kMiniBatches = 5;  // As server/stall.h has it.

  void join(WorkerId worker) {
    if (index(worker) >= ended_.size()) {
      ended_.resize(index(worker) + 1, 0);
    }
  }
  // One that has stalled or has no data left is the same process when it joins again.
  // REQUIRES: the worker has joined, here and below.
  void leave(WorkerId worker, Departure how) {
    if (how == Departure::kLeft || how == Departure::kDead) {
      ended_[index(worker)] = 0;
    }
  }
  // A mini-batch has ended, whatever came of it.
  void end(WorkerId worker) {
    std::uint32_t& ended = ended_[index(worker)];
    ended += ended < kMiniBatches ? 1U : 0U;
  }
  // Whether the mini-batch that it computes, or has just ended, is one of the first.
  [[nodiscard]] bool cold(WorkerId worker) const { return ended_[index(worker)] < kMiniBatches; }

 private:
  std::vector<std::uint32_t> ended_;  // Mini-batches of its process, by worker; counts to the most.
};

}  // namespace outpace::policy

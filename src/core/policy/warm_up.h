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

  // `mini_batches`: in a release, at least 1.
  explicit WarmUp(std::uint32_t mini_batches = 1)
      : releases_((kMiniBatches + mini_batches - 1) / mini_batches) {}

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
  // A release has ended, whatever came of it.
  void end(WorkerId worker) {
    std::uint32_t& ended = ended_[index(worker)];
    ended += ended < releases_ ? 1U : 0U;
  }
  // Whether the release that it computes, or has just ended, is one of the first.
  [[nodiscard]] bool cold(WorkerId worker) const { return ended_[index(worker)] < releases_; }

 private:
  std::uint32_t releases_;            // In which a process is cold.
  std::vector<std::uint32_t> ended_;  // Releases of its process, by worker; counts to the most.
};

}  // namespace outpace::policy

// What must hold of the server's state after every event, by itself and against the state before.
//
//   I1   gradients are counted once; no example is used twice in an epoch
//   I10  the version never goes back, and counts the updates
//   I12  the weights move only when the version does
//   I17  the weights are finite

#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "server/coordinator.h"

namespace outpace::invariants {

class State {
 public:
  // `weights` is empty without learning. Throws Violation.
  void check(const server::Coordinator& coordinator, std::span<const float> weights);

 private:
  struct Seen {
    std::uint64_t version = 0;
    std::uint64_t applied = 0;
    std::uint64_t dropped = 0;
    std::uint64_t refused = 0;
    std::uint64_t filtered = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t examples = 0;
    std::uint64_t weights = 0;  // A digest.
  };

  std::optional<Seen> before_;
};

}  // namespace outpace::invariants

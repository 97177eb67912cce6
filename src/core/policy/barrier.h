// What makes a worker wait for others under a policy, as far as predictions distinguish policies.

#pragma once

#include <cstdint>

namespace outpace::policy {

enum class BarrierKind : std::uint8_t {
  kNone,              // A worker never waits, and every gradient counts.
  kCutoff,            // A round ends with its c-th gradient; the others are dropped.
  kBestCutoff,        // As kCutoff, with a c that is chosen for each round.
  kRestarting,        // As kCutoff, but a worker that is done computes again in the same round.
  kDistinct,          // An update waits for k workers, and they wait for it; nobody is cancelled.
  kBoundedStaleness,  // No worker gets far ahead of the slowest, or of a random sample.
  kLateOnes,  // A worker never waits, and gradients that are too stale do not count in full.
  kChanging   // Another policy takes over in the course of the run.
};

// Whether all workers begin together, at each update: no gradient that counts is stale.
[[nodiscard]] constexpr bool is_of_rounds(BarrierKind kind) {
  return kind == BarrierKind::kCutoff || kind == BarrierKind::kBestCutoff ||
         kind == BarrierKind::kRestarting;
}

}  // namespace outpace::policy

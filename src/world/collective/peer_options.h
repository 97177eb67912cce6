// The settings of each worker of a ring or a gossip. A value.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "collective/batch_plan.h"
#include "collective/stepper.h"
#include "worker/neighbour.h"

namespace outpace::collective {

// How the workers of a gossip average their weights; meetings.h says it in full.
enum class Averaging : std::uint8_t {
  kCoupled,  // Two meet in the middle; each gradient goes with one meeting.
  kFree,     // The same, but no gradient waits for a meeting.
  kPull,     // One moves to the middle; each gradient goes with one pull.
  kPush,     // One sends, the other moves; each gradient goes with one push.
  kElastic,  // All move towards one centre, and it towards them (EASGD).
};

struct PeerOptions {
  WorkerId worker{};
  BatchPlanOptions batches;  // A gossip uses `workers`, `batch` and `examples` only.
  std::uint64_t seed = 1;    // For the examples' order.
  bool with_replacement = false;
  std::uint64_t evaluate_every = 5120;  // Applied examples.
  StepRule rule;
  double clip_norm = 0.0;                     // 0: do not clip.
  std::size_t bucket_bytes = 1U << 20U;       // Used by a ring; the next two by a gossip.
  Averaging averaging = Averaging::kCoupled;  // REQUIRES of the next: not kComplete, unless this
  worker::Graph graph = worker::Graph::kBipartite;  // is kPull or kPush.
  std::uint32_t average_every = 1;  // Gradients for each averaging that a worker begins.
  double elasticity = 0.9;          // For kElastic: beta; alpha is beta / workers.
};

}  // namespace outpace::collective

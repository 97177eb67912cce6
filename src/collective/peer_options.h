// The settings of each worker of a ring or a gossip. A value.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "collective/batch_plan.h"
#include "collective/stepper.h"

namespace outpace::collective {

struct PeerOptions {
  WorkerId worker{};
  BatchPlanOptions batches;  // A gossip uses `workers`, `batch` and `examples` only.
  std::uint64_t seed = 1;    // Of the examples' order.
  bool with_replacement = false;
  std::uint64_t evaluate_every = 5120;  // Applied examples.
  StepRule rule;
  double clip_norm = 0.0;                // 0: do not clip.
  std::size_t bucket_bytes = 1U << 20U;  // Used by a ring.
};

}  // namespace outpace::collective

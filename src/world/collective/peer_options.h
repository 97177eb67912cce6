// The settings of each worker of a ring or a gossip. A value.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "collective/stepper.h"
#include "compress/format.h"
#include "peer/averaging.h"
#include "peer/batch_plan.h"
#include "peer/journal.h"
#include "worker/neighbour.h"
#include "worker/topology.h"

namespace outpace::collective {

using peer::Averaging;

struct PeerOptions {
  WorkerId worker{};
  peer::BatchPlanOptions batches;  // A gossip uses `workers`, `batch` and `examples` only.
  std::uint64_t seed = 1;          // For the examples' order.
  bool with_replacement = false;
  std::uint64_t evaluate_every = 5120;  // Applied examples.
  StepRule rule;
  double clip_norm = 0.0;                     // 0: do not clip.
  std::size_t bucket_bytes = 1U << 20U;       // Used by a ring; the next two by a gossip.
  Averaging averaging = Averaging::kCoupled;  // REQUIRES of the next: not kComplete, unless this
  worker::Graph graph = worker::Graph::kBipartite;  // is kPull or kPush.
  std::uint32_t average_every = 1;  // Gradients for each averaging that a worker begins.
  double elasticity = 0.9;          // For kElastic: beta; alpha is beta / workers.
  // How workers write what they send to each other: the gradients of a ring, the weights of a
  // gossip, which has no feedback.
  compress::Compression compression{};
  peer::Journal journal{};  // What this worker decides; called by any of its threads.
};

}  // namespace outpace::collective

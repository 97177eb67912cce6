// What a policy makes a worker wait for before its next mini-batch, as the coarse models (coarse.h)
// take it.

#pragma once

#include <cstdint>

#include "base/spec.h"
#include "policy/barrier.h"

namespace outpace::throughput {

using policy::BarrierKind;

struct Barrier {
  BarrierKind kind;
  std::uint32_t cutoff = 0;  // Gradients of an update; 0 unless kCutoff, kRestarting or kDistinct.
  Spec policy = {};          // For kDistinct, kBoundedStaleness and kLateOnes.
};

// The barrier of a policy on `workers` workers. Throws a usage error where policy::make_policy()
// does, and if the policy goes by what is learnt: there would be one phase for ever.
[[nodiscard]] Barrier barrier_of(const Spec& policy, std::uint32_t workers);

// Whether the coarse models know the barrier. They do not know a policy that changes in the run.
[[nodiscard]] bool is_modelled(const Barrier& barrier);

// Whether workers begin their mini-batches at times of their own, not together in rounds.
[[nodiscard]] bool is_out_of_step(BarrierKind kind);

}  // namespace outpace::throughput

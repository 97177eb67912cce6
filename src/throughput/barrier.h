// What a policy makes a worker wait for before its next mini-batch, as far as the coarse models
// (coarse.h) distinguish policies.

#pragma once

#include <cstdint>

#include "base/spec.h"

namespace outpace::throughput {

enum class BarrierKind : std::uint8_t {
  kCutoff,           // A round ends with its c-th gradient: sync, backup, ksync.
  kBestCutoff,       // As kCutoff, with the c that gives the highest throughput: dynamic.
  kRestarting,       // As kCutoff, but a worker that is done starts its next mini-batch at once:
                     // kbatchsync.
  kNone,             // A worker never waits: async, softsync, kasync, kbatchasync, adasync, saps.
  kBoundedStaleness  // No worker gets far ahead of the slowest: ssp, dssp, psp.
};

struct Barrier {
  BarrierKind kind;
  std::uint32_t cutoff = 0;  // Gradients a round; 0 unless kCutoff or kRestarting.
};

// The barrier of a policy on `workers` workers. A switch between policies has the barrier of its
// first policy. Throws a usage error where policy::make_policy() does.
[[nodiscard]] Barrier barrier_of(const Spec& policy, std::uint32_t workers);

}  // namespace outpace::throughput

// Whom a policy waits for, as far as coarse models tell policies apart.

#pragma once

#include <cstdint>

#include "base/spec.h"

namespace outpace::throughput {

enum class Waits : std::uint8_t {
  kCutoff,      // A round ends with its so-many-th gradient: sync, backup, ksync.
  kBestCutoff,  // The same, with the count that gives most gradients a second: dynamic.
  kRestarting,  // As kCutoff, but who is done begins anew at once: kbatchsync.
  kNobody,      // async, softsync, kasync, kbatchasync, adasync, saps.
  kSlowest      // Nobody gets far ahead of the slowest: ssp, dssp, psp.
};

struct Coordination {
  Waits waits;
  std::uint32_t cutoff = 0;  // Of kCutoff and kRestarting.
};

// Of a switch it is that of the first policy. Throws a usage error as policy::make_policy() does.
[[nodiscard]] Coordination coordination_of(const Spec& policy, std::uint32_t workers);

}  // namespace outpace::throughput

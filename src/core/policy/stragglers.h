// What becomes of the workers that an update of a policy would have to wait for; for people to see.

#pragma once

#include <cstdint>

#include "base/spec.h"

namespace outpace::policy {

enum class Stragglers : std::uint8_t {
  kAwaited,     // Each update waits for all.
  kCutOff,      // An update goes without those that are late, and they begin anew.
  kGoOn,        // Nobody waits: they push when they are done.
  kPartlyWait,  // They push when they are done; some of the others wait for them, or for an update.
};

// REQUIRES: make_policy() accepts it, and it is no switch: each of a switch's phases has its own.
[[nodiscard]] Stragglers stragglers_of(const Spec& policy);

}  // namespace outpace::policy

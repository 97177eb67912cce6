// A running hash of numbers: the same numbers in the same order give the same hash on every
// machine, and any difference another one, as surely as 64 bits allow. Not for secrets.

#pragma once

#include <bit>
#include <cstdint>

#include "base/rng.h"

namespace outpace {

class Digest {
 public:
  void add(std::uint64_t value) { state_ = mix(std::rotl(state_, 1) ^ value); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }

  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x6f75747061636531ULL;
};

}  // namespace outpace

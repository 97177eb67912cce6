// A running hash of numbers: the same numbers in the same order give the same hash on every
// machine, and any difference another one, as surely as 64 bits allow. Not for secrets.

#pragma once

#include <bit>
#include <cstdint>

#include "base/rng.h"

namespace outpace {

class Digest {
 public:
  // One multiplication, for a simulation waits for several of these at every event. A bijection of
  // the state and of the value: two runs that differ once never come together by this alone.
  void add(std::uint64_t value) {
    state_ = (state_ ^ value) * 0xd1342543de82ef95U;
    state_ ^= state_ >> 32U;
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }

  [[nodiscard]] std::uint64_t value() const { return mix(state_); }

 private:
  std::uint64_t state_ = 0x6f75747061636531ULL;
};

}  // namespace outpace

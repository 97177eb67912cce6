// Random numbers: one independent stream per (seed, stream), the same on every library and machine.
//
// xoshiro256++ (Blackman & Vigna, 2019) seeded through SplitMix64. Distributions are ours because
// those of std:: differ from library to library, and recorded runs must not. next, uniform and
// below agree to the bit everywhere; normal and exponential as far as the C library's log1p, sin
// and cos do, which is all but the last digit.

#pragma once

#include <array>
#include <cstdint>

#include "base/archive.h"

namespace outpace {

// SplitMix64's finaliser: a good mixing of 64 bits into 64 bits.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

class Rng {
 public:
  Rng(std::uint64_t seed, std::uint64_t stream);

  [[nodiscard]] std::uint64_t next();
  // Uniform on [0, 1), 53 bits.
  [[nodiscard]] double uniform();
  // Uniform on 0..bound-1, without bias. REQUIRES: bound >= 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  // Standard normal (Box-Muller; both halves of a pair are used).
  [[nodiscard]] double normal();
  // Exponential with mean 1.
  [[nodiscard]] double exponential();

  void keep(Archive& archive) {
    archive("state", state_)("spare", spare_)("has_spare", has_spare_);
  }

 private:
  std::array<std::uint64_t, 4> state_{};
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace outpace

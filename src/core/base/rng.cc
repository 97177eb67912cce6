#include "base/rng.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace outpace {

Rng::Rng(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t state = mix(seed + 0x9e3779b97f4a7c15U) ^ mix(mix(stream + 0x2545f4914f6cdd1dU));
  for (std::uint64_t& word : state_) {
    state += 0x9e3779b97f4a7c15U;
    word = mix(state);
  }
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11U) * 0x1.0p-53;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  CHECK(bound >= 1);
  // Values under `threshold` would make the low remainders likelier; draw again.
  const std::uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const std::uint64_t value = next();
    if (value >= threshold) {
      return value % bound;
    }
  }
}

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(2.0 * exponential());
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double Rng::exponential() {
  return -std::log1p(-uniform());
}

}  // namespace outpace

#include "update/gradient.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace outpace::update {

double squared_norm(std::span<const float> gradient) {
  // Eight sums that do not wait for each other, always added up in the same order: fast without
  // leave to reorder, and the same to the bit on every machine.
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = gradient.size() - gradient.size() % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(gradient[i + lane]);
      sums[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < gradient.size(); ++i) {
    const double value = static_cast<double>(gradient[i]);
    sums[i - whole] += value * value;
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

bool clip(std::span<float> gradient, double squared_norm, double limit) {
  CHECK(std::isfinite(squared_norm) && limit > 0.0);
  const double norm = std::sqrt(squared_norm);
  if (norm <= limit) {
    return false;
  }
  // The factor stays a double: as a float32 it could vanish for a huge gradient.
  const double factor = limit / norm;
  for (float& value : gradient) {
    value = static_cast<float>(static_cast<double>(value) * factor);
  }
  return true;
}

}  // namespace outpace::update

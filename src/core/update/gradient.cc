#include "update/gradient.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/square_sum.h"

namespace outpace::update {
namespace {

// As SquareSum, of at(0), at(1), ...
template <typename At>
double sum_of_squares(std::size_t size, At at) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = size - size % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = at(i + lane);
      sums[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < size; ++i) {
    const double value = at(i);
    sums[i - whole] += value * value;
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

bool all_finite(std::span<const float> numbers) {
  constexpr std::uint32_t kExponent = 0x7f800000U;
  std::uint32_t largest = 0;
  for (const float number : numbers) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(number) & kExponent);
  }
  return largest < kExponent;
}

double squared_norm(std::span<const float> gradient) {
  SquareSum sum;
  sum.add(gradient);
  return sum.total();
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  CHECK(a.size() == b.size());
  return sum_of_squares(a.size(), [&](std::size_t i) {
    return static_cast<double>(a[i]) - static_cast<double>(b[i]);
  });
}

bool clip(std::span<float> gradient, double squared_norm, double limit) {
  CHECK(std::isfinite(squared_norm) && limit > 0.0);
  const double norm = std::sqrt(squared_norm);
  if (norm <= limit) {
    return false;
  }
  // The factor stays a double, because as a float32 it could vanish for a huge gradient.
  const double factor = limit / norm;
  for (float& value : gradient) {
    value = static_cast<float>(static_cast<double>(value) * factor);
  }
  return true;
}

}  // namespace outpace::update

// The scale that numbers share: a bf16, because that of a small gradient is below the least fp16.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compress/half.h"

namespace outpace::compress {

static_assert(std::endian::native == std::endian::little, "packed numbers are little-endian");

inline constexpr std::uint32_t kNaN = 0x7fc00000;  // As a float32's bits.

// The least scale, as the bits of a float32, with `peak` <= levels * scale. It is a normal number,
// so that processors that take subnormal ones for 0 compute the same; 0 if `peak` is. It is NaN if
// `peak`, the bits of the largest magnitude, is not finite, or so large that levels * scale is not:
// what is unpacked by a finite scale is finite.
[[nodiscard]] constexpr std::uint32_t scale_for(std::uint32_t peak, float levels) {
  constexpr std::uint32_t kUnit = 0x10000;  // From one bf16 to the next.
  constexpr std::uint32_t kLeastNormal = 0x00800000;
  if (peak >= kInfinity) {
    return kNaN;
  }
  if (peak == 0) {
    return 0;
  }
  // A peak above levels * scale has a quotient above the scale, though it is rounded: the product
  // is exact, and the next float is too far from it. scale_test.cc tries all scales.
  const float largest = std::bit_cast<float>(peak);
  std::uint32_t scale = (std::bit_cast<std::uint32_t>(largest / levels) + kUnit - 1) & ~(kUnit - 1);
  scale = scale < kLeastNormal ? kLeastNormal : scale;
  const auto most = std::bit_cast<std::uint32_t>(std::bit_cast<float>(scale) * levels);
  return most < kInfinity ? scale : kNaN;
}

inline void put_scale(std::uint32_t scale, std::byte* to) {
  const auto upper = static_cast<std::uint16_t>(scale >> 16U);
  std::memcpy(to, &upper, sizeof upper);
}

[[nodiscard]] inline float get_scale(const std::byte* from) {
  std::uint16_t upper = 0;
  std::memcpy(&upper, from, sizeof upper);
  return from_bf16(upper);
}

}  // namespace outpace::compress

// Floats of 16 bits as their bits: bf16, the upper half of a float32, and fp16 of IEEE 754. Rounded
// to nearest, ties to even.

#pragma once

#include <cstdint>

#include "compress/vectors.h"

namespace outpace::compress {

inline constexpr std::uint32_t kMagnitude = 0x7fffffff;  // A float32 without its sign.
inline constexpr std::uint32_t kInfinity = 0x7f800000;   // Magnitudes above it are NaN.

// Without a branch, for loops that are vectorised.
[[nodiscard]] OUTPACE_INLINED constexpr std::uint32_t choose(bool first,
                                                             std::uint32_t one,
                                                             std::uint32_t other) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(first);
  return (one & mask) | (other & ~mask);
}

// A NaN stays one; what is beyond the largest bf16 becomes infinite.
[[nodiscard]] OUTPACE_INLINED constexpr std::uint16_t to_bf16(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t quiet = (bits >> 16U) | 0x40U;
  return static_cast<std::uint16_t>(choose((bits & kMagnitude) > kInfinity, quiet, rounded));
}

[[nodiscard]] OUTPACE_INLINED constexpr float from_bf16(std::uint16_t bits) {
  return __builtin_bit_cast(float, std::uint32_t{bits} << 16U);
}

// What is beyond the largest fp16 becomes that, 65504: a gradient that is a little too large counts
// as far as it can. Infinities and NaN stay what they are.
[[nodiscard]] OUTPACE_INLINED constexpr std::uint16_t to_fp16(float value) {
  constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14.
  constexpr std::uint32_t kTooLarge = 0x477ff000;  // 65520, halfway to the one that is not there.
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t magnitude = bits & kMagnitude;
  // Subnormal: a sum with 1/2 rounds to multiples of 2^-24, which is the unit of these.
  const std::uint32_t least = magnitude < kLeastNormal ? magnitude : kLeastNormal;
  const float small = __builtin_bit_cast(float, least) + 0.5F;
  const std::uint32_t subnormal = __builtin_bit_cast(std::uint32_t, small) - 0x3f000000U;
  const std::uint32_t normal =
      (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
  std::uint32_t half = choose(magnitude < kLeastNormal, subnormal, normal);
  half = choose(magnitude >= kTooLarge, 0x7bffU, half);
  half = choose(magnitude >= kInfinity, 0x7c00U, half);
  half = choose(magnitude > kInfinity, 0x7e00U, half);
  return static_cast<std::uint16_t>(half | ((bits >> 16U) & 0x8000U));
}

[[nodiscard]] OUTPACE_INLINED constexpr float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  const std::uint32_t shifted = magnitude << 13U;
  std::uint32_t wide = shifted + 0x38000000U;
  wide = choose(magnitude < 0x400U, __builtin_bit_cast(std::uint32_t, small), wide);
  wide = choose(magnitude >= 0x7c00U, shifted + 0x70000000U, wide);
  return __builtin_bit_cast(float, wide | sign);
}

}  // namespace outpace::compress

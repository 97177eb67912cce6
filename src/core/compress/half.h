// Floats of 16 bits as their bits: bf16, the upper half of a float32, and fp16 of IEEE 754. Rounded
// to nearest, ties to even.

#pragma once

#include <bit>
#include <cstdint>

namespace outpace::compress {

inline constexpr std::uint32_t kMagnitude = 0x7fffffff;  // A float32 without its sign.
inline constexpr std::uint32_t kInfinity = 0x7f800000;   // Magnitudes above it are NaN.

// A NaN stays one; what is beyond the largest bf16 becomes infinite.
[[nodiscard]] constexpr std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t quiet = (bits >> 16U) | 0x40U;
  return static_cast<std::uint16_t>((bits & kMagnitude) > kInfinity ? quiet : rounded);
}

[[nodiscard]] constexpr float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

// What is beyond the largest fp16 becomes that, 65504: a gradient that is a little too large counts
// as far as it can. Infinities and NaN stay what they are.
[[nodiscard]] constexpr std::uint16_t to_fp16(float value) {
  constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14.
  constexpr std::uint32_t kTooLarge = 0x477ff000;  // 65520, halfway to the one that is not there.
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & kMagnitude;
  // Subnormal: a sum with 1/2 rounds to multiples of 2^-24, which is the unit of these.
  const float small = std::bit_cast<float>(magnitude < kLeastNormal ? magnitude : 0U) + 0.5F;
  std::uint32_t half = std::bit_cast<std::uint32_t>(small) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t normal =
      (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
  half = magnitude >= kLeastNormal ? normal : half;
  half = magnitude >= kTooLarge ? 0x7bffU : half;
  half = magnitude >= kInfinity ? 0x7c00U : half;
  half = magnitude > kInfinity ? 0x7e00U : half;
  return static_cast<std::uint16_t>(half | ((bits >> 16U) & 0x8000U));
}

[[nodiscard]] constexpr float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  std::uint32_t wide = (magnitude << 13U) + 0x38000000U;
  wide = magnitude < 0x400U ? std::bit_cast<std::uint32_t>(small) : wide;
  wide = magnitude >= 0x7c00U ? (magnitude << 13U) + 0x70000000U : wide;
  return std::bit_cast<float>(wide | sign);
}

}  // namespace outpace::compress

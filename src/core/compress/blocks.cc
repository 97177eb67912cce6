#include "compress/blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "compress/format.h"
#include "compress/scale.h"

namespace outpace::compress {
namespace {

constexpr float kLevels8 = 127.0F;
constexpr float kLevels4 = 7.0F;
constexpr std::size_t kScaleBytes = 2;

using Codes = std::array<std::int8_t, kBlock>;

// Puts the block's scale, and gives back the whole numbers of it.
Codes quantise(std::span<const float> block, float levels, std::byte* packed) {
  std::uint32_t peak = 0;
  for (const float number : block) {
    peak = std::max(peak, std::bit_cast<std::uint32_t>(number) & kMagnitude);
  }
  const std::uint32_t scale = scale_for(peak, levels);
  put_scale(scale, packed);
  Codes codes{};
  if (scale == 0 || scale == kNaN) {
    return codes;
  }
  // A quotient is rounded to nearest, ties to even, by a sum that has no digits below 1.
  constexpr float kWhole = 0x1.8p23F;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const float sum = block[i] / std::bit_cast<float>(scale) + kWhole;
    codes.at(i) = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(sum) & 0xffU);
  }
  return codes;
}

}  // namespace

void pack_int8(std::span<const float> numbers, std::byte* packed) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kBlock) {
    const auto block = numbers.subspan(begin, std::min(kBlock, numbers.size() - begin));
    const Codes codes = quantise(block, kLevels8, packed);
    std::memcpy(packed + kScaleBytes, codes.data(), block.size());
    packed += kScaleBytes + block.size();
  }
}

void pack_int4(std::span<const float> numbers, std::byte* packed) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kBlock) {
    const auto block = numbers.subspan(begin, std::min(kBlock, numbers.size() - begin));
    const Codes codes = quantise(block, kLevels4, packed);
    packed += kScaleBytes;
    for (std::size_t i = 0; i < block.size(); i += 2) {
      const auto low = static_cast<std::uint8_t>(codes.at(i) & 15);
      const auto high = static_cast<std::uint8_t>(codes.at(i + 1) & 15);  // 0 beyond an odd end.
      *packed++ = static_cast<std::byte>(low | (high << 4U));
    }
  }
}

void unpack_int8(const std::byte* packed, std::span<float> numbers) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kBlock) {
    const auto block = numbers.subspan(begin, std::min(kBlock, numbers.size() - begin));
    const float scale = get_scale(packed);
    packed += kScaleBytes;
    for (float& number : block) {
      number = scale * static_cast<float>(static_cast<std::int8_t>(*packed++));
    }
  }
}

void unpack_int4(const std::byte* packed, std::span<float> numbers) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kBlock) {
    const auto block = numbers.subspan(begin, std::min(kBlock, numbers.size() - begin));
    const float scale = get_scale(packed);
    packed += kScaleBytes;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto byte = std::to_integer<unsigned>(packed[i / 2]);
      const unsigned nibble = i % 2 == 0 ? byte & 15U : byte >> 4U;
      block[i] = scale * static_cast<float>(static_cast<int>(nibble ^ 8U) - 8);
    }
    packed += (block.size() + 1) / 2;
  }
}

}  // namespace outpace::compress

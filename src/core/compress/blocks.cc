#include "compress/blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "compress/scale.h"

namespace outpace::compress {
namespace {

constexpr std::size_t kScaleBytes = 2;
// A sum with it has no digits below 1: rounded to nearest, ties to even. Its last byte is the whole
// number in two's complement.
constexpr float kWhole = 0x1.8p23F;

template <Kind kind>
constexpr float kLevels = kind == Kind::kInt8 ? 127.0F : 7.0F;
template <Kind kind>
constexpr std::size_t kCodeBytes = kind == Kind::kInt8 ? kBlock : kBlock / 2;

OUTPACE_INLINED std::uint32_t bits_of(float number) {
  return __builtin_bit_cast(std::uint32_t, number);
}

// The last bits of sums with kWhole, as bytes or half bytes.
template <Kind kind>
OUTPACE_INLINED void put_codes(const float* whole, std::byte* to) {
  for (std::size_t i = 0; i < kCodeBytes<kind>; ++i) {
    if constexpr (kind == Kind::kInt8) {
      to[i] = static_cast<std::byte>(bits_of(whole[i]) & 0xffU);
    } else {
      to[i] = static_cast<std::byte>((bits_of(whole[2 * i]) & 0x0fU) |
                                     ((bits_of(whole[2 * i + 1]) & 0x0fU) << 4U));
    }
  }
}

// One block. `before` and `after` are null if nothing is remembered.
template <Kind kind>
OUTPACE_INLINED void pack_block(
    const float* numbers, const float* before, float share, float* after, std::byte* to) {
  float added[kBlock];
  if (before != nullptr) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      added[i] = numbers[i] + share * before[i];
    }
  }
  const float* const sums = before != nullptr ? added : numbers;
  std::int32_t peak = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto magnitude = static_cast<std::int32_t>(bits_of(sums[i]) & kMagnitude);
    peak = peak < magnitude ? magnitude : peak;
  }
  const std::uint32_t scale_bits = scale_for(static_cast<std::uint32_t>(peak), kLevels<kind>);
  put_scale(scale_bits, to);
  to += kScaleBytes;
  if (scale_bits == kNaN) {
    std::memset(to, 0, kCodeBytes<kind>);
    if (before != nullptr) {
      std::memcpy(after, before, sizeof added);
    }
    return;
  }
  // With a scale of 0 all numbers are 0.
  const float scale = scale_bits == 0 ? 1.0F : __builtin_bit_cast(float, scale_bits);
  float whole[kBlock];
  for (std::size_t i = 0; i < kBlock; ++i) {
    whole[i] = sums[i] / scale + kWhole;
  }
  put_codes<kind>(whole, to);
  if (before != nullptr) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      after[i] = sums[i] - (whole[i] - kWhole) * scale;
    }
  }
}

template <Kind kind>
OUTPACE_INLINED void pack_all(const Sums& sums, std::byte* packed) {
  const std::size_t size = sums.numbers.size();
  const bool remembers = !sums.before.empty();
  const float* const numbers = sums.numbers.data();
  const float* const before = sums.before.data();
  float* const after = sums.after.data();
  std::size_t i = 0;
  for (; i + kBlock <= size; i += kBlock) {
    if (remembers) {
      pack_block<kind>(numbers + i, before + i, sums.share, after + i, packed);
    } else {
      pack_block<kind>(numbers + i, nullptr, 0.0F, nullptr, packed);
    }
    packed += kScaleBytes + kCodeBytes<kind>;
  }
  if (const std::size_t rest = size - i; rest > 0) {  // As a block with zeros behind.
    float padded[3][kBlock] = {};
    std::byte bytes[kScaleBytes + kCodeBytes<kind>];
    std::memcpy(padded[0], numbers + i, rest * sizeof(float));
    if (remembers) {
      std::memcpy(padded[1], before + i, rest * sizeof(float));
    }
    pack_block<kind>(padded[0], padded[1], sums.share, padded[2], bytes);
    std::memcpy(packed, bytes, kScaleBytes + (kind == Kind::kInt8 ? rest : (rest + 1) / 2));
    if (remembers) {
      std::memcpy(after + i, padded[2], rest * sizeof(float));
    }
  }
}

template <Kind kind>
OUTPACE_INLINED void unpack_block(const std::byte* from, float* numbers) {
  const float scale = get_scale(from);
  from += kScaleBytes;
  if constexpr (kind == Kind::kInt8) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const int code = (std::to_integer<int>(from[i]) ^ 128) - 128;  // Two's complement.
      numbers[i] = scale * static_cast<float>(code);
    }
  } else {
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
      const int byte = std::to_integer<int>(from[i]);
      numbers[2 * i] = scale * static_cast<float>(((byte & 15) ^ 8) - 8);
      numbers[2 * i + 1] = scale * static_cast<float>(((byte >> 4) ^ 8) - 8);
    }
  }
}

template <Kind kind>
OUTPACE_INLINED void unpack_all(const std::byte* packed, std::span<float> numbers) {
  constexpr std::size_t kBytes = kScaleBytes + kCodeBytes<kind>;
  std::size_t i = 0;
  for (; i + kBlock <= numbers.size(); i += kBlock) {
    unpack_block<kind>(packed, numbers.data() + i);
    packed += kBytes;
  }
  if (const std::size_t rest = numbers.size() - i; rest > 0) {
    std::byte bytes[kBytes] = {};
    float padded[kBlock];
    std::memcpy(bytes, packed, kScaleBytes + (kind == Kind::kInt8 ? rest : (rest + 1) / 2));
    unpack_block<kind>(bytes, padded);
    std::memcpy(numbers.data() + i, padded, rest * sizeof(float));
  }
}

OUTPACE_INLINED void pack_either(Kind kind, const Sums& sums, std::byte* packed) {
  kind == Kind::kInt8 ? pack_all<Kind::kInt8>(sums, packed) : pack_all<Kind::kInt4>(sums, packed);
}
OUTPACE_INLINED void unpack_either(Kind kind, const std::byte* packed, std::span<float> numbers) {
  kind == Kind::kInt8 ? unpack_all<Kind::kInt8>(packed, numbers)
                      : unpack_all<Kind::kInt4>(packed, numbers);
}

}  // namespace

void pack_blocks(Kind kind, std::span<const float> numbers, std::byte* packed, Vectors vectors) {
  const Sums alone{.numbers = numbers, .before = {}, .share = 0.0F, .after = {}};
  pack_block_sums(kind, alone, packed, vectors);
}
void pack_block_sums(Kind kind, const Sums& sums, std::byte* packed, Vectors vectors) {
  run_with(vectors, [=]() OUTPACE_VECTORISED { pack_either(kind, sums, packed); });
}
void unpack_blocks(Kind kind, const std::byte* packed, std::span<float> numbers, Vectors vectors) {
  run_with(vectors, [=]() OUTPACE_VECTORISED { unpack_either(kind, packed, numbers); });
}

}  // namespace outpace::compress

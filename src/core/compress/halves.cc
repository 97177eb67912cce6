#include "compress/halves.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "compress/half.h"

namespace outpace::compress {
namespace {

struct Bf16 {
  OUTPACE_INLINED static std::uint16_t to(float number) { return to_bf16(number); }
  OUTPACE_INLINED static float from(std::uint16_t bits) { return from_bf16(bits); }
};
struct Fp16 {
  OUTPACE_INLINED static std::uint16_t to(float number) { return to_fp16(number); }
  OUTPACE_INLINED static float from(std::uint16_t bits) { return from_fp16(bits); }
};

// A block at a time, in memory of its own: the compiler knows that nothing overlaps, and how long
// the loops are.
template <typename Half>
OUTPACE_INLINED void pack_part(const float* numbers, std::size_t count, std::byte* packed) {
  std::uint16_t halves[kBlock];
  for (std::size_t i = 0; i < count; ++i) {
    halves[i] = Half::to(numbers[i]);
  }
  std::memcpy(packed, halves, count * sizeof(std::uint16_t));
}

template <typename Half>
OUTPACE_INLINED void pack_sums_part(const Sums& sums,
                                    std::size_t begin,
                                    std::size_t count,
                                    std::byte* packed) {
  const float* const numbers = sums.numbers.data() + begin;
  const float* const before = sums.before.data() + begin;
  float added[kBlock];
  float after[kBlock];
  std::uint16_t halves[kBlock];
  for (std::size_t i = 0; i < count; ++i) {
    added[i] = numbers[i] + sums.share * before[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    halves[i] = Half::to(added[i]);
    const float left = added[i] - Half::from(halves[i]);
    const auto bits = __builtin_bit_cast(std::uint32_t, left);
    const bool finite = (bits & kMagnitude) < kInfinity;
    const std::uint32_t kept = choose(finite, bits, __builtin_bit_cast(std::uint32_t, before[i]));
    after[i] = __builtin_bit_cast(float, kept);
  }
  std::memcpy(packed, halves, count * sizeof(std::uint16_t));
  std::memcpy(sums.after.data() + begin, after, count * sizeof(float));
}

template <typename Half>
OUTPACE_INLINED void unpack_part(const std::byte* packed, std::size_t count, float* numbers) {
  std::uint16_t halves[kBlock];
  std::memcpy(halves, packed, count * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = Half::from(halves[i]);
  }
}

// Calls `part` with the beginning and the size of each block.
template <typename Part>
OUTPACE_INLINED void by_block(std::size_t size, const Part& part) {
  std::size_t begin = 0;
  for (; begin + kBlock <= size; begin += kBlock) {
    part(begin, kBlock);
  }
  if (begin < size) {
    part(begin, size - begin);
  }
}

template <typename Half>
void pack_as(std::span<const float> numbers, std::byte* packed, Vectors vectors) {
  run_with(vectors, [=]() OUTPACE_VECTORISED {
    by_block(numbers.size(), [=](std::size_t begin, std::size_t count) OUTPACE_VECTORISED {
      pack_part<Half>(numbers.data() + begin, count, packed + 2 * begin);
    });
  });
}

template <typename Half>
void pack_sums_as(const Sums& sums, std::byte* packed, Vectors vectors) {
  run_with(vectors, [=]() OUTPACE_VECTORISED {
    by_block(sums.numbers.size(), [=](std::size_t begin, std::size_t count) OUTPACE_VECTORISED {
      pack_sums_part<Half>(sums, begin, count, packed + 2 * begin);
    });
  });
}

template <typename Half>
void unpack_as(const std::byte* packed, std::span<float> numbers, Vectors vectors) {
  run_with(vectors, [=]() OUTPACE_VECTORISED {
    by_block(numbers.size(), [=](std::size_t begin, std::size_t count) OUTPACE_VECTORISED {
      unpack_part<Half>(packed + 2 * begin, count, numbers.data() + begin);
    });
  });
}

}  // namespace

void pack_halves(Kind kind, std::span<const float> numbers, std::byte* packed, Vectors vectors) {
  kind == Kind::kBf16 ? pack_as<Bf16>(numbers, packed, vectors)
                      : pack_as<Fp16>(numbers, packed, vectors);
}
void pack_half_sums(Kind kind, const Sums& sums, std::byte* packed, Vectors vectors) {
  kind == Kind::kBf16 ? pack_sums_as<Bf16>(sums, packed, vectors)
                      : pack_sums_as<Fp16>(sums, packed, vectors);
}
void unpack_halves(Kind kind, const std::byte* packed, std::span<float> numbers, Vectors vectors) {
  kind == Kind::kBf16 ? unpack_as<Bf16>(packed, numbers, vectors)
                      : unpack_as<Fp16>(packed, numbers, vectors);
}

}  // namespace outpace::compress

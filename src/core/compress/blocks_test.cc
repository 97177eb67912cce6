#include "compress/blocks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compress/pack_twin_test.h"
#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

std::string bytes_of(const Floats& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), 4 * numbers.size()};
}

// Each has the vectors of another processor.
TEST(Blocks, AllLoopsComputeTheSameBits) {
  constexpr std::uint64_t kSeed = 41;
  const std::vector<BlockLoops> loops = block_loops();
  for (const Kind kind : {Kind::kInt8, Kind::kInt4}) {
    Rng rng(kSeed, 0);
    for (std::size_t length = 0; length < 400; ++length) {
      const Floats numbers = numbers_to_pack(rng, length, true);
      const Floats before = numbers_to_pack(rng, length, true);
      std::string expected;
      for (const BlockLoops& loop : loops) {
        Floats after(length);
        std::vector<std::byte> packed(packed_bytes({.kind = kind}, length));
        loop.pack(kind,
                  {.numbers = numbers, .before = before, .share = 0.95F, .after = after},
                  packed.data());
        Floats unpacked(length);
        loop.unpack(kind, packed.data(), unpacked);
        const std::string found = hex(packed) + bytes_of(after) + bytes_of(unpacked);
        expected = expected.empty() ? found : expected;
        ASSERT_EQ(found, expected) << loop.name << ", length " << length << ", seed " << kSeed;
      }
    }
  }
}

TEST(Blocks, WithWhatWasLeftTheyPackTheSum) {
  constexpr std::uint64_t kSeed = 42;
  for (const Kind kind : {Kind::kInt8, Kind::kInt4}) {
    Rng rng(kSeed, 0);
    for (std::size_t length = 1; length < 200; ++length) {
      const Floats numbers = numbers_to_pack(rng, length, true);
      const Floats before = numbers_to_pack(rng, length, false);
      Floats sums(length);
      for (std::size_t i = 0; i < length; ++i) {
        sums[i] = numbers[i] + 0.95F * before[i];
      }
      Floats after(length);
      std::vector<std::byte> packed(packed_bytes({.kind = kind}, length));
      pack_block_sums(kind,
                      {.numbers = numbers, .before = before, .share = 0.95F, .after = after},
                      packed.data());
      ASSERT_EQ(hex(packed), hex_of({.kind = kind}, sums)) << length << ", seed " << kSeed;
      const Floats unpacked = back({.kind = kind}, sums);
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_EQ(after[i], std::isnan(unpacked[i]) ? before[i] : sums[i] - unpacked[i])
            << length << ", number " << i << ", seed " << kSeed;
      }
    }
  }
}

TEST(Blocks, Int8IsAScaleAndABytePerNumber) {
  const Format int8{.kind = Kind::kInt8};
  // The largest is 127: the scale is 1, 0x3f80. Ties go to even.
  EXPECT_EQ(hex_of(int8, {127.0F, -127.0F, 0.5F, 1.5F, -0.5F, -3.0F}), "803f7f81000200fd");
  EXPECT_EQ(hex_of(int8, {0.0F, -0.0F}), "00000000");
  EXPECT_EQ(hex_of(int8, {1.0F, NAN}), "c07f0000");
  EXPECT_EQ(hex_of(int8, {1.0F, -INFINITY}), "c07f0000");
  // 128 / 127 is a little above the bf16 0x3f81, so that the scale is the next one.
  EXPECT_EQ(hex_of(int8, {128.0F}), "823f7e");
}

TEST(Blocks, Int4IsAScaleAndTwoNumbersInAByte) {
  const Format int4{.kind = Kind::kInt4};
  EXPECT_EQ(hex_of(int4, {7.0F, -7.0F, 0.5F, 1.5F, -1.0F}), "803f97200f");
  EXPECT_EQ(back(int4, {7.0F, -7.0F, 0.5F, 1.5F, -1.0F}), (Floats{7, -7, 0, 2, -1}));
}

}  // namespace
}  // namespace outpace::compress

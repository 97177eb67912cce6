#include "compress/pack.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compress/pack_twin_test.h"
#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

std::vector<Format> all_formats() {
  std::vector<Format> formats;
  for (const Kind kind : {Kind::kNone, Kind::kBf16, Kind::kFp16, Kind::kInt8, Kind::kInt4}) {
    formats.push_back({.kind = kind});
  }
  for (const auto& [kept, bits] :
       {std::pair(1U, 8U), std::pair(41U, 2U), std::pair(1000U, 4U), std::pair(4096U, 2U)}) {
    formats.push_back({.kind = Kind::kTopK, .kept = kept, .bits = bits});
  }
  return formats;
}

std::string name_of(const Format& format) {
  return Compression{.format = format}.name();
}

// NaN of any bits are equal, and 0 and -0 are not.
::testing::AssertionResult same_bits(const Floats& found, const Floats& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool nan = std::isnan(expected[i]);
    const bool same =
        std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i]);
    if (nan ? !std::isnan(found[i]) : !same) {
      return ::testing::AssertionFailure()
             << "number " << i << " is " << found[i] << ", not " << expected[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// bf16 and fp16 may write any NaN.
void forget_nans(const Format& format, const Floats& numbers, std::vector<std::byte>& packed) {
  if (format.kind == Kind::kBf16 || format.kind == Kind::kFp16) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i])) {
        packed[2 * i] = packed[2 * i + 1] = std::byte{0};
      }
    }
  }
}

void expect_like_the_twin(const Format& format, const Floats& numbers, const std::string& where) {
  PackTwin twin(format);
  std::vector<std::byte> packed = packed_of(format, numbers);
  Floats unpacked(numbers.size());
  unpack(format, packed, unpacked);
  ASSERT_TRUE(same_bits(unpacked, twin.unpack(packed, numbers.size()))) << where;
  forget_nans(format, numbers, packed);
  ASSERT_EQ(hex(packed), hex(twin.pack(numbers))) << where;
}

TEST(Pack, AsItsTwinOnRandomNumbersOfEveryLength) {
  constexpr std::uint64_t kSeed = 20261128;
  std::uint64_t stream = 0;
  for (const Format& format : all_formats()) {
    Rng rng(kSeed, ++stream);
    std::vector<std::size_t> lengths(201);
    std::iota(lengths.begin(), lengths.end(), 0U);
    lengths.insert(lengths.end(), {4095, 4096, 4097, 8192 + 77, 20'000});
    for (const std::size_t length : lengths) {
      const Floats numbers = numbers_to_pack(rng, length, true);
      expect_like_the_twin(format,
                           numbers,
                           name_of(format) + ", length " + std::to_string(length) + ", seed " +
                               std::to_string(kSeed));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST(Pack, EveryBf16AndFp16ComesBackAsItIs) {
  for (const Kind kind : {Kind::kBf16, Kind::kFp16}) {
    std::vector<std::byte> all(2 * 0x10000);
    for (std::size_t i = 0; i < 0x10000; ++i) {
      all[2 * i] = static_cast<std::byte>(i & 255U);
      all[2 * i + 1] = static_cast<std::byte>(i >> 8U);
    }
    Floats numbers(0x10000);
    unpack({.kind = kind}, all, numbers);
    ASSERT_TRUE(same_bits(numbers, PackTwin({.kind = kind}).unpack(all, numbers.size())));
    std::vector<std::byte> again = packed_of({.kind = kind}, numbers);
    forget_nans({.kind = kind}, numbers, again);
    forget_nans({.kind = kind}, numbers, all);
    EXPECT_TRUE(again == all);
  }
}

// In double, which has all digits of these.
TEST(Pack, NoNumberChangesByMoreThanItsScaleAllows) {
  constexpr std::uint64_t kSeed = 7;
  for (const Format& format : {Format{.kind = Kind::kInt8},
                               Format{.kind = Kind::kInt4},
                               Format{.kind = Kind::kTopK, .kept = 4096, .bits = 2}}) {
    Rng rng(kSeed, 0);
    const double share = format.kind == Kind::kTopK ? 1.0 : 0.5;
    for (int round = 0; round < 200; ++round) {
      const Floats numbers = numbers_to_pack(rng, 300, false);
      PackTwin twin(format);
      static_cast<void>(twin.pack(numbers));
      const Floats unpacked = back(format, numbers);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double scale = twin.scales().at(i / twin.together());
        if (!std::isnan(scale)) {  // So near to the largest float that a level is none.
          ASSERT_LE(std::abs(double{unpacked[i]} - double{numbers[i]}), share * scale)
              << name_of(format) << ", round " << round << ", number " << i;
        }
      }
    }
  }
}

TEST(Pack, NoneIsTheNumbersAsTheyAre) {
  EXPECT_EQ(hex_of({}, {1.0F, -2.0F}), "0000803f000000c0");
}

TEST(Pack, AScaleThatIsNotFiniteSpoilsItsBlockOrChunkAlone) {
  for (const Format& format : {Format{.kind = Kind::kInt8},
                               Format{.kind = Kind::kInt4},
                               Format{.kind = Kind::kTopK, .kept = 4096, .bits = 8}}) {
    Floats numbers(2 * kChunk, 1.0F);
    numbers[0] = NAN;
    const Floats unpacked = back(format, numbers);
    EXPECT_TRUE(std::isnan(unpacked[1]));
    EXPECT_NEAR(unpacked[kChunk], 1.0F, 0.01F);
  }
}

}  // namespace
}  // namespace outpace::compress

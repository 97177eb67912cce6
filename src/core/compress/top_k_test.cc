#include "compress/top_k.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

TEST(TopK, IsAScaleThePlacesAndTheirValues) {
  // Two numbers of eight are kept: places 1 and 4 in 3 bytes, values of 4 bits in 1. The scale
  // is 1.
  const Format top{.kind = Kind::kTopK, .kept = 1024, .bits = 4};
  const Floats numbers = {0, 15, 1, -2, -8.5, 3, 0, 7};
  EXPECT_EQ(hex_of(top, numbers), "803f0140003f");
  EXPECT_EQ(back(top, numbers), (Floats{0, 15, 0, 0, -9, 0, 0, 0}));
}

TEST(TopK, KeepsTheFirstOfEqualNumbers) {
  const Format top{.kind = Kind::kTopK, .kept = 1536, .bits = 2};  // 3 of 8.
  EXPECT_EQ(back(top, {0, 3, -3, 3, 3, 9, 3, 3}), (Floats{0, 3, -3, 0, 0, 9, 0, 0}));
  EXPECT_EQ(back(top, Floats(8, 0.0F)), Floats(8, 0.0F));
}

TEST(TopK, PlacesBeyondTheChunkOrNotAscendingAreRefused) {
  const Format top{.kind = Kind::kTopK, .kept = 1024, .bits = 4};
  const auto refusal = [&](std::size_t numbers, std::size_t at, unsigned value) {
    std::vector<std::byte> packed = packed_of(top, Floats(numbers, 1.0F));
    packed.at(at) = static_cast<std::byte>(value);
    Floats unpacked(numbers);
    try {
      unpack(top, packed, unpacked);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kFailure);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(8, 2, 0), "accepted");
  EXPECT_EQ(refusal(8, 2, 8),
            "packed numbers: chunk 0, number 0: place 8 is beyond the chunk's 8 numbers");
  EXPECT_EQ(refusal(8, 2, 1),
            "packed numbers: chunk 0, number 1: place 1 is not above the one before it");
  const std::size_t chunk = packed_bytes(top, kChunk);
  EXPECT_EQ(refusal(kChunk + 8, chunk + 2, 8),
            "packed numbers: chunk 1, number 0: place 8 is beyond the chunk's 8 numbers");
}

}  // namespace
}  // namespace outpace::compress

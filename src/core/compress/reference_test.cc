#include "compress/reference.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/refusal_test.h"
#include "base/rng.h"
#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

std::uint32_t checksum(const Floats& numbers) {
  return crc32c({reinterpret_cast<const char*>(numbers.data()), 4 * numbers.size()});
}

// A sender, and a receiver whose reference is what came of the bytes alone.
struct Ends {
  WeightsKind kind;
  Floats sender;
  Floats receiver;

  std::vector<std::byte> send(const Floats& next) {
    Floats now(next.size());
    std::vector<std::byte> packed = pack_weights(kind, sender, next, now);
    EXPECT_LE(packed.size(), packed_weights_most(kind, next.size()));
    Floats came(next.size());
    unpack_weights(kind, packed, receiver, came);
    sender = now;
    receiver = came;
    return packed;
  }
};

TEST(Weights, NamesAreReadAndWritten) {
  for (const char* text : {"none", "bf16", "int8", "delta"}) {
    EXPECT_EQ(name(parse_weights(text)), text);
  }
  EXPECT_EQ(refusal_of([] { static_cast<void>(parse_weights("int4")); }),
            "unknown compression of weights 'int4'; did you mean 'int8'?");
}

TEST(Weights, ANewcomerGetsThemWhole) {
  const Floats next = {1.0F, -2.0F};
  for (const auto& [kind, bytes] : {std::pair(WeightsKind::kNone, "0000803f000000c0"),
                                    std::pair(WeightsKind::kBf16, "803f00c0"),
                                    std::pair(WeightsKind::kInt8, "0000803f000000c0"),
                                    std::pair(WeightsKind::kDelta, "803f00c0")}) {
    Ends ends{.kind = kind};
    EXPECT_EQ(hex(ends.send(next)), bytes);
    EXPECT_EQ(ends.receiver, next);
  }
}

TEST(Weights, TheNextOnesAreADifference) {
  const Floats first(3, 1.0F);
  const Floats next = {128.0F, 1.25F, -1.0F};
  for (const auto& [kind, bytes] :
       {std::pair(WeightsKind::kNone, "000000430000a03f000080bf"),
        std::pair(WeightsKind::kBf16, "0043a03f80bf"),
        std::pair(WeightsKind::kInt8, "803f7f00fe"),  // The scale is 1: 127, 0 and -2.
        std::pair(WeightsKind::kDelta, "0300070043a03f80bf")}) {
    Ends ends{.kind = kind};
    ends.send(first);
    EXPECT_EQ(hex(ends.send(next)), bytes);
  }
}

TEST(Weights, WhatRoundingLeavesIsInTheNextDifference) {
  Ends ends{.kind = WeightsKind::kInt8};
  ends.send({0.0F, 0.0F});
  const Floats next = {127.0F, 0.375F};
  ends.send(next);
  EXPECT_EQ(ends.receiver, (Floats{127.0F, 0.0F}));
  ends.send(next);
  EXPECT_NEAR(ends.receiver[1], 0.375F, 0.002F);
}

// As training moves them: all a little, each time.
TEST(Weights, BothEndsHaveTheSameBitsAfter10000Versions) {
  constexpr std::size_t kNumbers = 333;
  for (const WeightsKind kind : {WeightsKind::kInt8, WeightsKind::kDelta}) {
    constexpr std::uint64_t kSeed = 20261128;
    Rng rng(kSeed, 0);
    Ends ends{.kind = kind};
    Floats weights(kNumbers);
    for (int version = 0; version < 10'000; ++version) {
      const double size = std::pow(10.0, -6.0 * rng.uniform());
      for (float& weight : weights) {
        weight += static_cast<float>(size * rng.normal());
      }
      ends.send(weights);
      ASSERT_EQ(checksum(ends.sender), checksum(ends.receiver))
          << name(kind) << ", version " << version << ", seed " << kSeed;
      if (kind == WeightsKind::kDelta) {
        ASSERT_EQ(ends.receiver, back({.kind = Kind::kBf16}, weights));
      }
    }
    for (std::size_t i = 0; i < kNumbers; ++i) {  // The last difference is at most 5 or so.
      EXPECT_NEAR(ends.receiver[i], weights[i], std::abs(weights[i]) / 256 + 5.0F / 127);
    }
  }
}

TEST(Weights, ADifferenceThatIsNotFiniteIsNaNAtBothEnds) {
  Ends ends{.kind = WeightsKind::kInt8};
  Floats weights(65, 1.0F);
  ends.send(weights);
  for (const float spoiled :
       {std::numeric_limits<float>::infinity(), -std::nanf("1"), 1.0F}) {  // It stays so.
    weights[3] = spoiled;
    ends.send(weights);
    EXPECT_EQ(checksum(ends.sender), checksum(ends.receiver));
    EXPECT_TRUE(std::isnan(ends.receiver[0]));
    EXPECT_EQ(ends.receiver[64], 1.0F);
  }
}

TEST(Weights, BytesOfAnotherSizeAreRefused) {
  const auto refusal = [](WeightsKind kind, std::size_t bytes, const Floats& reference) {
    Floats now(20);
    try {
      unpack_weights(kind, std::vector<std::byte>(bytes), reference, now);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kFailure);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const Floats reference(20);
  EXPECT_EQ(refusal(WeightsKind::kNone, 80, reference), "accepted");
  EXPECT_EQ(refusal(WeightsKind::kNone, 79, {}), "packed weights: 79 bytes; these have 80");
  EXPECT_EQ(refusal(WeightsKind::kBf16, 80, {}), "packed weights: 80 bytes; these have 40");
  EXPECT_EQ(refusal(WeightsKind::kInt8, 80, reference), "packed weights: 80 bytes; these have 22");
  EXPECT_EQ(refusal(WeightsKind::kInt8, 22, {}), "packed weights: 22 bytes; these have 80");
  EXPECT_EQ(refusal(WeightsKind::kDelta, 2, reference), "accepted");
  // A delta for one who has no reference.
  EXPECT_EQ(refusal(WeightsKind::kDelta, 2, {}), "packed weights: 2 bytes; these have 40");
}

}  // namespace
}  // namespace outpace::compress

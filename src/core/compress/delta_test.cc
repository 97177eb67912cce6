#include "compress/delta.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "compress/pack_twin_test.h"
#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

std::vector<std::byte> delta_of(const Floats& reference, const Floats& next) {
  Floats now(next.size());
  std::vector<std::byte> packed(7);  // It is written anew.
  pack_delta(reference, next, now, packed);
  Floats read(next.size());
  unpack_delta(packed, reference, read);
  EXPECT_EQ(read, now);
  EXPECT_LE(packed.size(), packed_delta_most(next.size()));
  return packed;
}

TEST(Delta, FewChangesHavePlaces) {
  const Floats reference(20, 1.0F);
  Floats next = reference;
  EXPECT_EQ(hex(delta_of(reference, next)), "0000");
  next[19] = -2.0F;
  EXPECT_EQ(hex(delta_of(reference, next)), "0100130000c0");
  next[18] = 1.0F + 0x1p-20F;  // Too little for a bf16.
  EXPECT_EQ(hex(delta_of(reference, next)), "0100130000c0");
}

TEST(Delta, ManyChangesHaveABitForEachNumber) {
  const Floats reference(20, 1.0F);
  Floats next = reference;
  next[0] = next[9] = -2.0F;  // Places of 3 bytes are not fewer than 20 bits.
  EXPECT_EQ(hex(delta_of(reference, next)), "020001020000c000c0");
}

TEST(Delta, ChunksFollowOneAnother) {
  const Floats reference(4100, 0.0F);
  Floats next = reference;
  next[4095] = 1.0F;
  next[4097] = 2.0F;
  EXPECT_EQ(hex(delta_of(reference, next)), "0100ff0f803f0100020040");
}

TEST(Delta, TheBoundIsReached) {
  EXPECT_EQ(delta_of(Floats(4101, 0.0F), Floats(4101, 1.0F)).size(), packed_delta_most(4101));
}

TEST(Delta, TakesTheShorterPlacesOfAnyChanges) {
  constexpr std::uint64_t kSeed = 9;
  Rng rng(kSeed, 0);
  for (int round = 0; round < 200; ++round) {
    const std::size_t numbers = 1 + rng.below(10'000);
    const Floats reference = back({.kind = Kind::kBf16}, numbers_to_pack(rng, numbers, false));
    Floats next = reference;
    const double share = std::pow(rng.uniform(), 3.0);
    std::vector<std::size_t> changed((numbers + kChunk - 1) / kChunk);
    for (std::size_t i = 0; i < numbers; ++i) {
      if (rng.uniform() < share) {
        next[i] = reference[i] == 0 ? 1.0F : -reference[i];
        ++changed[i / kChunk];
      }
    }
    std::size_t expected = 0;
    for (std::size_t chunk = 0; chunk < changed.size(); ++chunk) {
      const std::size_t length = std::min(kChunk, numbers - chunk * kChunk);
      expected += 2 + std::min((12 * changed[chunk] + 7) / 8, (length + 7) / 8);
      expected += 2 * changed[chunk];
    }
    Floats now(numbers);
    std::vector<std::byte> packed;
    pack_delta(reference, next, now, packed);
    ASSERT_EQ(packed.size(), expected) << "round " << round << ", seed " << kSeed;
    ASSERT_EQ(now, next);
    Floats read(numbers);
    unpack_delta(packed, reference, read);
    ASSERT_EQ(read, next) << "round " << round << ", seed " << kSeed;
  }
}

TEST(Delta, OtherBytesAreRefused) {
  const auto refusal = [](std::size_t numbers, const std::vector<unsigned>& bytes) {
    std::vector<std::byte> packed;
    for (const unsigned byte : bytes) {
      packed.push_back(static_cast<std::byte>(byte));
    }
    Floats now(numbers);
    try {
      unpack_delta(packed, Floats(numbers), now);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kFailure);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(20, {1, 0, 19, 0, 0, 0xc0}), "accepted");
  EXPECT_EQ(refusal(20, {}), "packed weights: chunk 0: the bytes end within its count");
  EXPECT_EQ(refusal(20, {1, 0, 19}), "packed weights: chunk 0: the bytes end within its places");
  EXPECT_EQ(refusal(20, {1, 0, 19, 0, 0}),
            "packed weights: chunk 0: the bytes end within its numbers");
  EXPECT_EQ(refusal(20, {1, 0, 19, 0, 0, 0xc0, 7}), "packed weights: 1 bytes after the last chunk");
  EXPECT_EQ(refusal(20, {21, 0}), "packed weights: chunk 0: 21 of its 20 numbers changed");
  EXPECT_EQ(refusal(20, {1, 0, 20, 0, 0, 0}),
            "packed weights: chunk 0: number 0: place 20 is beyond its 20 numbers");
  EXPECT_EQ(refusal(40, {2, 0, 5, 0x50, 0, 0, 0, 0, 0}),
            "packed weights: chunk 0: number 1: place 5 is not above the one before it");
  for (const unsigned last : {0x00U, 0x03U, 0x10U}) {  // One bit too few, too many, beyond the end.
    EXPECT_EQ(refusal(20, {2, 0, 1, 0, last, 0, 0, 0, 0}),
              "packed weights: chunk 0: its bits are not 2 of 20");
  }
  EXPECT_EQ(refusal(4097, {0, 0, 2, 0}), "packed weights: chunk 1: 2 of its 1 numbers changed");
}

}  // namespace
}  // namespace outpace::compress

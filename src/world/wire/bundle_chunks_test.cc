#include "wire/bundle_chunks.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

namespace outpace::wire {
namespace {

std::string all_of(ArrivedChunks& arrived) {
  std::string bytes(100, '\0');
  const iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  bytes.resize(arrived.read({&part, 1}));
  return bytes;
}

TEST(BundleFrames, AreTheirExactBytes) {
  const auto bytes =
      encode_frame({.kind = FrameKind::kChunk, .bytes = 0x0201, .place = 0x0605040302});
  const std::array<unsigned char, 16> wanted = {1, 0, 0, 0, 1, 2, 0, 0, 2, 3, 4, 5, 6, 0, 0, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(static_cast<unsigned char>(bytes.at(i)), wanted.at(i)) << i;
  }
  const FrameHead head = decode_frame(bytes);
  EXPECT_EQ(head.kind, FrameKind::kChunk);
  EXPECT_EQ(head.bytes, 0x0201U);
  EXPECT_EQ(head.place, 0x0605040302U);
}

TEST(BundleFrames, ThatWereChangedOrClaimTooMuchAreRefused) {
  for (std::size_t i = 0; i < kFrameHeadBytes; ++i) {
    auto bytes = encode_frame({.kind = FrameKind::kTaken, .place = 7});
    bytes.at(i) = static_cast<char>(bytes.at(i) ^ 4);
    EXPECT_THROW(static_cast<void>(decode_frame(bytes)), Error) << i;
  }
  const auto refused = [](const FrameHead& head) {
    EXPECT_THROW(static_cast<void>(decode_frame(encode_frame(head))), Error);
  };
  refused({.kind = FrameKind::kChunk, .bytes = 0});
  refused({.kind = FrameKind::kChunk, .bytes = kChunkMax + 1});
  refused({.kind = FrameKind::kTaken, .bytes = 1});
  refused({.kind = FrameKind{4}});
  refused({.kind = FrameKind{0}});
}

TEST(SentChunks, KeepWhatWasNotTakenAndGiveALostLanesAgain) {
  SentChunks sent;
  sent.add("abc", 0);
  sent.add("de", 1);
  sent.add("fgh", 0);
  EXPECT_EQ(sent.on_the_way(), 8U);
  sent.taken(3);
  sent.taken(1);  // An older word, by another lane.
  EXPECT_EQ(sent.on_the_way(), 5U);
  sent.lost(0);
  ASSERT_TRUE(sent.owes());
  EXPECT_EQ(*sent.give_again(1).bytes, "fgh");
  EXPECT_FALSE(sent.owes());
  sent.lost(1);
  EXPECT_EQ(*sent.give_again(2).bytes, "de");
  sent.taken(8);
  EXPECT_FALSE(sent.owes()) << "what was owed has come";
  EXPECT_EQ(sent.on_the_way(), 0U);
  EXPECT_THROW(sent.taken(9), Error);
}

TEST(ArrivedChunks, AreReadInOrderAndOnce) {
  ArrivedChunks arrived;
  arrived.add(3, "de");
  EXPECT_FALSE(arrived.readable());
  arrived.add(0, "abc");
  arrived.add(3, "de");
  arrived.add(0, "abc");
  EXPECT_EQ(all_of(arrived), "abcde");
  arrived.add(0, "abc");
  EXPECT_FALSE(arrived.readable());
  EXPECT_EQ(arrived.taken(), 5U);
}

TEST(ArrivedChunks, AreKeptNoFurtherAheadThanTheOtherSideMaySend) {
  ArrivedChunks arrived;
  EXPECT_NO_THROW(arrived.add(kOnTheWayMax - 1, "a"));
  EXPECT_THROW(arrived.add(kOnTheWayMax, "a"), Error);
  EXPECT_THROW(arrived.add(UINT64_MAX, "a"), Error);
}

TEST(ArrivedChunks, ThatOverlapAreRefused) {
  ArrivedChunks arrived;
  arrived.add(1, "bc");
  EXPECT_THROW(arrived.add(0, "ab"), Error);
}

// Whatever the order in which they come, and however often.
TEST(ArrivedChunks, OfAnyOrderAreTheStream) {
  Rng rng(1, 0);
  for (int round = 0; round < 200; ++round) {
    std::string stream(60, '\0');
    std::iota(stream.begin(), stream.end(), 'A');
    std::vector<std::pair<std::size_t, std::size_t>> chunks;  // Place and size.
    for (std::size_t place = 0; place < stream.size();) {
      const std::size_t size = std::min(1 + rng.below(7), stream.size() - place);
      chunks.emplace_back(place, size);
      place += size;
    }
    ArrivedChunks arrived;
    std::string read;
    while (!chunks.empty()) {
      const std::size_t one = rng.below(chunks.size());
      const auto [place, size] = chunks.at(one);
      arrived.add(place, stream.substr(place, size));
      if (rng.below(3) > 0) {
        chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(one));
      }
      if (rng.below(2) == 0) {
        read += all_of(arrived);
      }
    }
    EXPECT_EQ(read + all_of(arrived), stream) << round;
  }
}

}  // namespace
}  // namespace outpace::wire

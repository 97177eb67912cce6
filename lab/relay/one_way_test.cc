#include "relay/one_way.h"

#include <gtest/gtest.h>

namespace outpace::relay {
namespace {

using std::chrono::milliseconds;

constexpr Time at(Duration since_start) {
  return Time{since_start};
}

constexpr std::size_t kPackets = 100'000;

Packet packet_of(std::size_t bytes, int mark = 0) {
  return Packet(bytes, static_cast<std::byte>(mark));
}

TEST(OneWay, APacketComesOutAfterTheDelayAndNotBefore) {
  OneWay way({.delay = milliseconds(25)}, Rng(1, 0));
  EXPECT_EQ(way.next(), std::nullopt);
  way.put(at(milliseconds(10)), packet_of(100, 7));
  EXPECT_EQ(way.next(), at(milliseconds(35)));
  EXPECT_EQ(way.take(at(milliseconds(35) - Duration(1))), std::nullopt);
  EXPECT_EQ(way.take(at(milliseconds(35))), packet_of(100, 7));
  EXPECT_EQ(way.take(at(milliseconds(35))), std::nullopt);
  EXPECT_EQ(way.counts(), (Counts{.packets = 1, .bytes = 100}));
}

TEST(OneWay, PacketsThatComeTogetherComeOutAtTheRateInTheirOrder) {
  // 1000 bytes at 8 Mbit/s take 1 ms.
  OneWay way({.delay = milliseconds(10), .bits_per_second = 8e6}, Rng(1, 0));
  for (int mark = 0; mark < 3; ++mark) {
    way.put(at(milliseconds(0)), packet_of(1000, mark));
  }
  for (int mark = 0; mark < 3; ++mark) {
    const Time due = at(milliseconds(11 + mark));
    EXPECT_EQ(way.next(), due);
    EXPECT_EQ(way.take(due), packet_of(1000, mark));
  }
}

TEST(OneWay, AnIdleLinkSavesNothingUp) {
  OneWay way({.bits_per_second = 8e6}, Rng(1, 0));
  way.put(at(milliseconds(500)), packet_of(1000));
  way.put(at(milliseconds(500)), packet_of(1000));
  EXPECT_EQ(way.next(), at(milliseconds(501)));
  EXPECT_TRUE(way.take(at(milliseconds(501))));
  EXPECT_EQ(way.next(), at(milliseconds(502)));
}

TEST(OneWay, AFullQueueRefusesUntilTheLinkHasSent) {
  OneWay way({.bits_per_second = 8e6, .queue_bytes = 2500}, Rng(1, 0));
  for (int i = 0; i < 3; ++i) {
    way.put(at(milliseconds(0)), packet_of(1000));
  }
  EXPECT_EQ(way.counts().refused, 1U);
  way.put(at(milliseconds(1)), packet_of(1000));  // The first is sent.
  EXPECT_EQ(way.counts().refused, 1U);
}

TEST(OneWay, WithoutARateNoQueueIsFull) {
  OneWay way({.delay = milliseconds(50), .queue_bytes = 1}, Rng(1, 0));
  way.put(at(milliseconds(0)), packet_of(1000));
  EXPECT_EQ(way.counts().refused, 0U);
}

TEST(OneWay, LosesItsShareAndTheSeedAloneSaysWhich) {
  const auto marks = [](std::uint64_t seed) {
    OneWay way({.loss = 0.01}, Rng(seed, 0));
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < kPackets; ++i) {
      way.put(at(milliseconds(i)), packet_of(1));
      if (way.take(at(milliseconds(i)))) {
        out.push_back(i);
      }
    }
    EXPECT_EQ(way.counts().lost + out.size(), kPackets);
    return out;
  };
  // 1000 are expected; the standard deviation is 31.
  EXPECT_NEAR(static_cast<double>(kPackets - marks(1).size()), 1000.0, 160.0);
  EXPECT_EQ(marks(1), marks(1));
  EXPECT_NE(marks(1), marks(2));
}

TEST(OneWay, ALostPacketHasUsedTheLink) {
  OneWay lossy({.loss = 1.0, .bits_per_second = 8e6, .queue_bytes = 1000}, Rng(1, 0));
  lossy.put(at(milliseconds(0)), packet_of(1000));
  lossy.put(at(milliseconds(0)), packet_of(1000));
  EXPECT_EQ(lossy.next(), std::nullopt);
  EXPECT_EQ(lossy.counts(), (Counts{.lost = 1, .refused = 1}));
}

}  // namespace
}  // namespace outpace::relay

#include "throughput/intervals.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::throughput {
namespace {

TEST(Intervals, AreUnitedInOrder) {
  EXPECT_EQ(united({{5, 6}, {1, 2}, {2, 3}, {1, 1.5}, {4, 4}}), (Intervals{{1, 3}, {5, 6}}));
  EXPECT_EQ(united({}), Intervals{});
}

TEST(Intervals, LeaveWhatTheOthersDoNotCover) {
  const Intervals all{{0, 10}, {20, 30}};
  EXPECT_EQ(without(all, {{2, 3}, {9, 21}, {29, 40}}), (Intervals{{0, 2}, {3, 9}, {21, 29}}));
  EXPECT_EQ(without(all, {}), all);
  EXPECT_EQ(without(all, {{-1, 50}}), Intervals{});
}

TEST(Intervals, AreMeasuredWithinAWindow) {
  const Intervals all{{0, 10}, {20, 30}};
  EXPECT_EQ(length_within(all, {5, 22}), 7.0);
  EXPECT_EQ(length_within(all, {10, 20}), 0.0);
  EXPECT_EQ(length_within(all, {40, 50}), 0.0);
}

// Against sets of whole seconds, the dumb way.
TEST(Intervals, AgreeWithSetsOfSeconds) {
  Rng rng(7, 0);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> drawn[2];
    std::uint64_t seconds[2] = {0, 0};
    for (int set = 0; set < 2; ++set) {
      for (int i = 0; i < 5; ++i) {
        const auto begin = rng.below(60);
        const auto length = rng.below(5);
        drawn[set].push_back({static_cast<double>(begin), static_cast<double>(begin + length)});
        seconds[set] |= ((std::uint64_t{1} << length) - 1) << begin;
      }
    }
    const Intervals left = without(united(drawn[0]), united(drawn[1]));
    for (std::uint64_t second = 0; second < 64; ++second) {
      const bool expected = ((seconds[0] & ~seconds[1]) >> second & 1U) != 0;
      const auto at = static_cast<double>(second);
      EXPECT_EQ(length_within(left, {at, at + 1}), expected ? 1.0 : 0.0);
    }
  }
}

}  // namespace
}  // namespace outpace::throughput

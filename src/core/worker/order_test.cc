#include "worker/order.h"

#include <set>

#include <gtest/gtest.h>

namespace outpace::worker {
namespace {

TEST(Order, VisitsEveryExampleOnceAnEpochInAnOrderOfItsOwn) {
  Order order(100, 3, false);
  const auto first = order.examples({{0, 0, 100}});
  const auto second = order.examples({{1, 0, 100}});
  EXPECT_EQ(std::set<std::uint64_t>(first.begin(), first.end()).size(), 100U);
  EXPECT_EQ(std::set<std::uint64_t>(second.begin(), second.end()).size(), 100U);
  EXPECT_NE(first, second);
}

TEST(Order, IsTheSameForEveryWorkerAndWhateverTheRanges) {
  Order one(100, 3, false);
  Order other(100, 3, false);
  EXPECT_EQ(one.examples({{5, 10, 14}, {6, 0, 2}}), other.examples({{5, 10, 14}, {6, 0, 2}}));
  EXPECT_EQ(one.examples({{5, 10, 20}})[4], other.examples({{5, 14, 15}})[0]);
}

TEST(Order, DrawsWithReplacementWhenAsked) {
  Order order(1000, 3, true);
  const auto drawn = order.examples({{0, 0, 1000}});
  const std::set<std::uint64_t> distinct(drawn.begin(), drawn.end());
  EXPECT_GT(distinct.size(), 550U);  // 632 expected, give or take 15.
  EXPECT_LT(distinct.size(), 710U);
}

TEST(Order, FindsTheEpochOfAnExample) {
  const protocol::Ranges ranges{{.epoch = 3, .begin = 8, .end = 10},
                                {.epoch = 4, .begin = 0, .end = 5}};
  EXPECT_EQ(epoch_at(ranges, 0), 3U);
  EXPECT_EQ(epoch_at(ranges, 1), 3U);
  EXPECT_EQ(epoch_at(ranges, 2), 4U);
  EXPECT_EQ(epoch_at(ranges, 6), 4U);
}

}  // namespace
}  // namespace outpace::worker

#include "collective/progress_watch.h"

#include <gtest/gtest.h>

namespace outpace::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Time at(Duration time) {
  return Time{time};
}

TEST(ProgressWatch, AMiniBatchHasAsLongAsTheOptionSays) {
  ProgressWatch watch(server::StallRule(seconds(2)));
  EXPECT_FALSE(watch.stalled(at(seconds(100)))) << "it waits for others";
  watch.begin(at(seconds(100)));
  EXPECT_FALSE(watch.stalled(at(seconds(102))));
  EXPECT_EQ(watch.stalled(at(milliseconds(102'001))), milliseconds(2'001));
  watch.end(at(seconds(103)));
  EXPECT_FALSE(watch.stalled(at(seconds(200))));
}

TEST(ProgressWatch, WithoutTheOptionTheLimitFollowsTheRuntimesAfterFiveMiniBatches) {
  ProgressWatch watch(server::StallRule(std::nullopt));
  Time now = at(Duration{});
  for (int i = 0; i < 5; ++i) {
    watch.begin(now);
    EXPECT_FALSE(watch.stalled(now + seconds(600))) << "a process may begin slowly";
    EXPECT_TRUE(watch.stalled(now + seconds(601)));
    now += seconds(4);
    watch.end(now);
  }
  watch.begin(now);
  EXPECT_FALSE(watch.stalled(now + seconds(40)));
  EXPECT_TRUE(watch.stalled(now + seconds(41)));
}

TEST(ProgressWatch, OnlyTheLastHundredCount) {
  ProgressWatch watch(server::StallRule(std::nullopt));
  Time now = at(Duration{});
  const auto one = [&](Duration takes) {
    watch.begin(now);
    now += takes;
    watch.end(now);
  };
  one(seconds(1000));
  for (int i = 0; i < 100; ++i) {
    one(milliseconds(10));
  }
  watch.begin(now);
  EXPECT_TRUE(watch.stalled(now + seconds(31)));
}

}  // namespace
}  // namespace outpace::collective

#include "server/learning_rate.h"

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

TEST(LearningRate, IsTheBaseRateWithoutScheduleAndScale) {
  const LearningRate rate{.base = 0.25, .nominal_examples = 32};
  EXPECT_EQ(rate.of_update(32, 0), 0.25);
  EXPECT_EQ(rate.of_update(8, 1'000'000), 0.25);
}

// The schedule counts the examples of the update itself: the step at 100 is due when 90 + 10 are.
TEST(LearningRate, FollowsTheScheduleAtTheEndOfTheUpdate) {
  const LearningRate rate{
      .base = 0.5, .schedule = update::Schedule::parse(Spec::parse("step:every=100,factor=0.5"))};
  EXPECT_EQ(rate.of_update(9, 90), 0.5);
  EXPECT_EQ(rate.of_update(10, 90), 0.25);
}

TEST(LearningRate, IsScaledByTheShareOfAUsualUpdate) {
  const LearningRate rate{.base = 0.5, .scale = update::RateScale::kLinear, .nominal_examples = 64};
  EXPECT_EQ(rate.of_update(16, 0), 0.125);
  EXPECT_EQ(rate.of_update(128, 0), 1.0);
}

}  // namespace
}  // namespace outpace::server

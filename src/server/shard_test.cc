#include "server/shard.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

constexpr WorkerId kOne{1};
constexpr WorkerId kTwo{2};

TEST(Shard, StepsAlongTheMeanWeightedByExamples) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {1.0F, 2.0F});
  ASSERT_TRUE(shard.hold(kOne, {1.0F, 0.0F}));
  ASSERT_TRUE(shard.hold(kTwo, {0.0F, 4.0F}));
  shard.take_up({.worker = kOne, .sequence = Sequence{1}, .weight = 1.0, .examples = 24});
  shard.take_up({.worker = kTwo, .sequence = Sequence{2}, .weight = 1.0, .examples = 8});
  shard.step({.rate = 1.0});
  EXPECT_FLOAT_EQ(shard.weights()[0], 1.0F - 0.75F);
  EXPECT_FLOAT_EQ(shard.weights()[1], 2.0F - 1.0F);
}

TEST(Shard, HoldsNothingOfAGradientThatIsNotFinite) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {1.0F, 2.0F});
  EXPECT_FALSE(shard.hold(kOne, {1.0F, NAN}));
  EXPECT_FALSE(shard.hold(kOne, {INFINITY, 0.0F}));
  EXPECT_EQ(shard.weights()[0], 1.0F);
}

TEST(Shard, ForgetsWhatItIsToldToForget) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {1.0F});
  ASSERT_TRUE(shard.hold(kOne, {5.0F}));
  shard.forget(kOne);
  ASSERT_TRUE(shard.hold(kTwo, {1.0F}));
  shard.take_up({.worker = kTwo, .sequence = Sequence{2}, .weight = 1.0, .examples = 1});
  shard.step({.rate = 1.0});
  EXPECT_FLOAT_EQ(shard.weights()[0], 0.0F);
}

TEST(Shard, ClipsEachGradientBeforeItIsWeighted) {
  Shard shard({.optimizer = Spec::parse("sgd"), .clip_norm = 1.0}, {0.0F, 0.0F});
  ASSERT_TRUE(shard.hold(kOne, {3.0F, 4.0F}));
  shard.take_up({.worker = kOne, .sequence = Sequence{1}, .weight = 0.5, .examples = 2});
  shard.step({.rate = 1.0});
  EXPECT_FLOAT_EQ(shard.weights()[0], -0.3F);
  EXPECT_FLOAT_EQ(shard.weights()[1], -0.4F);
  EXPECT_EQ(shard.clipped(), 1U);
}

}  // namespace
}  // namespace outpace::server

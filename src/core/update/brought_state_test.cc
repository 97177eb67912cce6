#include "update/brought_state.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::update {
namespace {

constexpr std::size_t kWeights = 3;

std::unique_ptr<Optimizer> made(const std::string& spec) {
  return make_optimizer(Spec::parse(spec), kWeights);
}

void make_steps(Optimizer& optimizer, std::vector<float>& weights, int begin, int end) {
  for (int step = begin; step < end; ++step) {
    const auto t = static_cast<float>(step);
    const std::vector<float> mean{0.5F + 0.1F * t, -1.0F / (1.0F + t), 0.25F};
    optimizer.step({.rate = 0.01, .mean_weight = 1.0, .weight_decay = 0.1}, mean, weights);
  }
}

BroughtState state_of(Optimizer& optimizer, std::uint64_t updates) {
  BroughtState state{.updates = updates, .parts = {}};
  for (const StatePart& part : optimizer.state_parts()) {
    state.parts.push_back({part.name, {part.numbers.begin(), part.numbers.end()}});
  }
  return state;
}

class BroughtStateTest : public testing::TestWithParam<const char*> {};

TEST_P(BroughtStateTest, AnotherOptimizerGoesOnAsTheFirstWould) {
  const auto first = made(GetParam());
  std::vector<float> weights{1, 2, 3};
  make_steps(*first, weights, 0, 7);
  const auto second = made(GetParam());
  std::vector<float> moved = weights;
  ASSERT_EQ(begin_from(*second, state_of(*first, 7)), "");
  make_steps(*first, weights, 7, 12);
  make_steps(*second, moved, 7, 12);
  for (std::size_t i = 0; i < kWeights; ++i) {
    EXPECT_FLOAT_EQ(moved[i], weights[i]) << i;
  }
}

TEST_P(BroughtStateTest, ItDiffersFromOneThatBeginsAnew) {
  const auto first = made(GetParam());
  std::vector<float> weights{1, 2, 3};
  make_steps(*first, weights, 0, 7);
  const auto fresh = made(GetParam());
  std::vector<float> moved = weights;
  make_steps(*first, weights, 7, 8);
  make_steps(*fresh, moved, 7, 8);
  EXPECT_NE(moved, weights);
}

INSTANTIATE_TEST_SUITE_P(Optimizers,
                         BroughtStateTest,
                         testing::Values("momentum:mu=0.9",
                                         "nesterov:mu=0.9",
                                         "adam",
                                         "adamw:beta1=0.8",
                                         "rmsprop",
                                         "rmsprop:mu=0.5",
                                         "rmsprop:mu=0.5,centered=yes",
                                         "adagrad:lr_decay=0.1",
                                         "adadelta"));

TEST(BroughtState, WhatDoesNotFitIsNamed) {
  const auto adam = made("adam");
  const auto with = [](std::vector<BroughtPart> parts) {
    return BroughtState{.updates = 1, .parts = std::move(parts)};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(begin_from(*adam, with({{"velocity", {0, 0, 0}}})), "its optimizer has no 'velocity'");
  EXPECT_EQ(begin_from(*adam, with({{"first", {0, 0, 0}}})), "'second' is missing");
  EXPECT_EQ(begin_from(*adam, with({{"first", {0, 0}}, {"second", {0, 0, 0}}})),
            "'first' has 2 numbers, the tensor 3");
  EXPECT_EQ(begin_from(*adam, with({{"first", {0, nan, 0}}, {"second", {0, 0, 0}}})),
            "'first' has a number that is not finite");
  EXPECT_EQ(begin_from(*adam, with({{"first", {0, -1, 0}}, {"second", {0, -1, 0}}})),
            "'second' has a number that is not finite, or below 0");
  EXPECT_EQ(begin_from(*made("sgd"), with({{"velocity", {0, 0, 0}}})),
            "its optimizer has no 'velocity'");
}

TEST(BroughtState, AnyNumberOfUpdatesTakesNoTime) {
  const auto adam = made("adam");
  EXPECT_EQ(begin_from(*adam,
                       {.updates = std::numeric_limits<std::uint64_t>::max(),
                        .parts = {{"first", {1, 1, 1}}, {"second", {1, 1, 1}}}}),
            "");
  std::vector<float> weights{1, 1, 1};
  adam->step(
      {.rate = 0.5, .mean_weight = 1.0, .weight_decay = 0.0}, std::vector<float>{1, 1, 1}, weights);
  EXPECT_FLOAT_EQ(weights[0], 0.5F);  // Moments of 1 without a correction: a step of the rate.
}

}  // namespace
}  // namespace outpace::update

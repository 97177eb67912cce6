#include "update/rmsprop.h"

#include <cfloat>
#include <cmath>

#include <gtest/gtest.h>

#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

constexpr RmsPropOptions kRmsProp{.alpha = 0.75, .epsilon = 1e-12};

TEST(RmsProp, DividesByTheRootOfTheMeanSquare) {
  RmsProp rmsprop(kRmsProp, 1);
  // v = 0.25 * 16 = 4, 4 / 2
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, 4.0F, 0.0F), -2.0F);
  // v = 0.75 * 4 + 0.25 * 24 = 9, sqrt(24) / 3
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, std::sqrt(24.0F), 0.0F), -std::sqrt(24.0F) / 3.0F);
}

TEST(RmsProp, AddsEpsilonToTheRoot) {
  RmsProp rmsprop({.alpha = 0.75, .epsilon = 0.5}, 1);
  // 4 / (2 + 0.5)
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, 4.0F, 0.0F), -1.6F);
}

TEST(RmsProp, KeepsAVelocityOfItsSteps) {
  RmsProp rmsprop({.alpha = 0.75, .epsilon = 1e-12, .mu = 0.5}, 1);
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, 4.0F, 0.0F), -2.0F);
  // No gradient: half of the velocity remains.
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, 0.0F, 0.0F), -1.0F);
}

TEST(RmsProp, DividesByTheSpreadIfItIsCentered) {
  RmsProp rmsprop({.alpha = 0.5, .epsilon = 1e-12, .centered = true}, 1);
  // mean of squares 8, mean 2: 8 - 4 = 4, 4 / 2
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, 4.0F, 0.0F), -2.0F);
  // mean of squares 4 + 2 = 6, mean 1 + 1 = 2: 6 - 4 = 2, 2 / sqrt(2)
  EXPECT_FLOAT_EQ(stepped(rmsprop, kUnit, 2.0F, 0.0F), -std::sqrt(2.0F));
}

// The difference of two means falls below 0 by rounding where gradients are nearly alike.
TEST(RmsProp, StaysFiniteWithoutAnySpread) {
  RmsProp rmsprop({.alpha = 0.5, .epsilon = 1e-8, .centered = true}, 1);
  float weight = 0.0F;
  for (int t = 0; t < 1000; ++t) {
    const float moved =
        stepped(rmsprop, {.rate = 1e-9, .mean_weight = 1, .weight_decay = 0}, 1000.1F, weight);
    ASSERT_TRUE(std::isfinite(moved)) << "step " << t;
    ASSERT_LE(moved, weight);
    weight = moved;
  }
}

TEST(RmsProp, ScalesTheStepByTheMeanWeight) {
  RmsProp rmsprop(kRmsProp, 1);
  const Step quarter{.rate = 1, .mean_weight = 0.25, .weight_decay = 0};
  EXPECT_FLOAT_EQ(stepped(rmsprop, quarter, 4.0F, 0.0F), -0.5F);
}

TEST(RmsProp, PutsTheDecayIntoTheGradient) {
  RmsProp rmsprop(kRmsProp, 1);
  // g' = 2 * 2 = 4 and v = 4: 2 - 0.5 * 2
  EXPECT_FLOAT_EQ(stepped(rmsprop, {.rate = 0.5, .mean_weight = 1, .weight_decay = 2}, 0, 2), 1.0F);
}

TEST(RmsProp, StaysFiniteForTheGreatestGradient) {
  for (const bool centered : {false, true}) {
    RmsProp rmsprop({.mu = 0.9, .centered = centered}, 1);
    EXPECT_EQ(stepped(rmsprop, kUnit, FLT_MAX, 1.0F), 1.0F);
    EXPECT_TRUE(std::isfinite(stepped(rmsprop, kUnit, -FLT_MAX, 1.0F)));
    EXPECT_TRUE(std::isfinite(stepped(rmsprop, kUnit, 1.0F, 1.0F)));
  }
}

// torch.optim.RMSprop, as its documentation prints it.
struct PlainRmsProp {
  bool centered = false;
  double mu = 0.0;
  double v = 0.0;
  double m = 0.0;
  double b = 0.0;

  double operator()(const Step& step, double g, double w) {
    g += step.weight_decay * w;
    v = 0.9 * v + 0.1 * g * g;
    m = 0.9 * m + 0.1 * g;
    const double spread = centered ? v - m * m : v;
    b = mu * b + g / (std::sqrt(spread) + 1e-6);
    return w - step.rate * step.mean_weight * b;
  }
};

TEST(RmsProp, WalksLikeAPlainImplementation) {
  expect_walks_like("rmsprop:alpha=0.9,epsilon=1e-6", [] { return PlainRmsProp{}; });
  expect_walks_like("rmsprop:alpha=0.9,epsilon=1e-6,mu=0.5",
                    [] { return PlainRmsProp{.mu = 0.5}; });
  expect_walks_like("rmsprop:alpha=0.9,epsilon=1e-6,centered=yes",
                    [] { return PlainRmsProp{.centered = true}; });
}

}  // namespace
}  // namespace outpace::update

#include "update/adagrad.h"

#include <cfloat>
#include <cmath>

#include <gtest/gtest.h>

#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

TEST(Adagrad, DividesByTheRootOfTheSumOfSquares) {
  Adagrad adagrad({.epsilon = 1e-12}, 1);
  EXPECT_FLOAT_EQ(stepped(adagrad, kUnit, 3.0F, 0.0F), -1.0F);
  // 4 / sqrt(9 + 16)
  EXPECT_FLOAT_EQ(stepped(adagrad, kUnit, 4.0F, 0.0F), -0.8F);
}

TEST(Adagrad, BeginsWithTheInitialSumAndAddsEpsilonToTheRoot) {
  Adagrad adagrad({.initial = 16.0, .epsilon = 1.0}, 1);
  // 3 / (sqrt(16 + 9) + 1)
  EXPECT_FLOAT_EQ(stepped(adagrad, kUnit, 3.0F, 0.0F), -0.5F);
}

TEST(Adagrad, SlowsDownByUpdates) {
  Adagrad adagrad({.rate_decay = 0.5, .epsilon = 1e-12}, 1);
  EXPECT_FLOAT_EQ(stepped(adagrad, kUnit, 3.0F, 0.0F), -1.0F);
  // 0.8 / 1.5, and 12 / 13 / 2
  EXPECT_FLOAT_EQ(stepped(adagrad, kUnit, 4.0F, 0.0F), -0.8F / 1.5F);
  EXPECT_FLOAT_EQ(stepped(adagrad, kUnit, 12.0F, 0.0F), -6.0F / 13.0F);
}

TEST(Adagrad, ScalesTheStepByTheMeanWeightAndPutsTheDecayIntoTheGradient) {
  Adagrad adagrad({.epsilon = 1e-12}, 1);
  // g' = 1 + 0.5 * 4 = 3: 4 - 0.5 * 0.25
  EXPECT_FLOAT_EQ(stepped(adagrad, {.rate = 0.5, .mean_weight = 0.25, .weight_decay = 0.5}, 1, 4),
                  3.875F);
}

TEST(Adagrad, StaysFiniteForTheGreatestGradient) {
  Adagrad adagrad({}, 1);
  EXPECT_EQ(stepped(adagrad, kUnit, FLT_MAX, 1.0F), 1.0F);
  EXPECT_EQ(stepped(adagrad, kUnit, -FLT_MAX, 1.0F), 1.0F);
}

// torch.optim.Adagrad, as its documentation prints it.
struct PlainAdagrad {
  int t = 0;
  double s = 0.25;

  double operator()(const Step& step, double g, double w) {
    t += 1;
    g += step.weight_decay * w;
    s += g * g;
    const double rate = step.rate * step.mean_weight / (1.0 + (t - 1) * 0.01);
    return w - rate * g / (std::sqrt(s) + 1e-10);
  }
};

TEST(Adagrad, WalksLikeAPlainImplementation) {
  expect_walks_like("adagrad:lr_decay=0.01,initial=0.25", [] { return PlainAdagrad{}; });
}

}  // namespace
}  // namespace outpace::update

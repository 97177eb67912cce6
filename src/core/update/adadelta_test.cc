#include "update/adadelta.h"

#include <cfloat>
#include <cmath>

#include <gtest/gtest.h>

#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

TEST(Adadelta, StepsByItsOwnPastStepsOverItsPastGradients) {
  Adadelta adadelta({.rho = 0.75, .epsilon = 0.25}, 1);
  // v = 0.25 * 3 = 0.75, d = sqrt(0.25) / sqrt(1) * sqrt(3)
  EXPECT_FLOAT_EQ(stepped(adadelta, kUnit, std::sqrt(3.0F), 0.0F), -0.5F * std::sqrt(3.0F));
  // u = 0.25 * 0.75 = 0.1875, v = 0.5625 + 0.25 * 0.75 = 0.75,
  // d = sqrt(0.4375) / sqrt(1) * sqrt(0.75)
  EXPECT_FLOAT_EQ(stepped(adadelta, kUnit, std::sqrt(0.75F), 0.0F), -std::sqrt(0.4375F * 0.75F));
}

TEST(Adadelta, ScalesTheStepButNotItsMemoryByTheMeanWeight) {
  Adadelta whole({.rho = 0.75, .epsilon = 0.25}, 1);
  Adadelta quarter({.rho = 0.75, .epsilon = 0.25}, 1);
  const float moved = stepped(whole, kUnit, 2.0F, 0.0F);
  EXPECT_FLOAT_EQ(stepped(quarter, {.rate = 1, .mean_weight = 0.25, .weight_decay = 0}, 2.0F, 0.0F),
                  0.25F * moved);
  EXPECT_EQ(stepped(quarter, kUnit, 1.0F, 0.0F), stepped(whole, kUnit, 1.0F, 0.0F));
}

TEST(Adadelta, PutsTheDecayIntoTheGradient) {
  Adadelta adadelta({.rho = 0.75, .epsilon = 0.25}, 1);
  // g' = 0.5 * 2 = 1, v = 0.25, d = sqrt(0.25) / sqrt(0.5)
  EXPECT_FLOAT_EQ(stepped(adadelta, {.rate = 1, .mean_weight = 1, .weight_decay = 0.5}, 0, 2),
                  2.0F - std::sqrt(0.5F));
}

TEST(Adadelta, StaysFiniteForTheGreatestGradient) {
  Adadelta adadelta({}, 1);
  EXPECT_EQ(stepped(adadelta, kUnit, FLT_MAX, 1.0F), 1.0F);
  EXPECT_EQ(stepped(adadelta, kUnit, -FLT_MAX, 1.0F), 1.0F);
}

// Zeiler 2012, algorithm 1, with a rate.
struct PlainAdadelta {
  double v = 0.0;
  double u = 0.0;

  double operator()(const Step& step, double g, double w) {
    g += step.weight_decay * w;
    v = 0.9 * v + 0.1 * g * g;
    const double d = std::sqrt(u + 1e-6) / std::sqrt(v + 1e-6) * g;
    u = 0.9 * u + 0.1 * d * d;
    return w - step.rate * step.mean_weight * d;
  }
};

TEST(Adadelta, WalksLikeAPlainImplementation) {
  expect_walks_like("adadelta", [] { return PlainAdadelta{}; });
}

}  // namespace
}  // namespace outpace::update

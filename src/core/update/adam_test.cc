#include "update/adam.h"

#include <cfloat>
#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "update/aggregate.h"
#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

constexpr AdamOptions kOptions{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 1e-12};

TEST(Adam, MovesByTheMomentsWithoutTheirBias) {
  Adam adam(Adam::Decay::kInGradient, kOptions, 1);
  // m = 1.5 / 0.5 = 3, v = 2.25 / 0.25 = 9, 3 / sqrt(9) = 1
  EXPECT_NEAR(stepped(adam, kUnit, 3.0F, 0.0F), -1.0, 1e-6);
  // m = 0.75 / 0.75 = 1, v = 1.6875 / 0.4375 = 3.857142, 1 / sqrt(3.857142) = 0.509175
  EXPECT_NEAR(stepped(adam, kUnit, 0.0F, 0.0F), -0.509175, 1e-6);
}

TEST(Adam, IsBlindToTheScaleOfTheGradient) {
  for (const float scale : {1e-3F, 1.0F, 1e6F}) {
    Adam adam(Adam::Decay::kInGradient, kOptions, 1);
    EXPECT_NEAR(stepped(adam, kUnit, scale, 0.0F), -1.0, 1e-6);
  }
}

TEST(Adam, ScalesTheStepByTheMeanWeight) {
  Adam adam(Adam::Decay::kInGradient, kOptions, 1);
  const Step quarter{.rate = 1, .mean_weight = 0.25, .weight_decay = 0};
  EXPECT_NEAR(stepped(adam, quarter, 3.0F, 0.0F), -0.25, 1e-6);
}

TEST(Adam, SeesTheUnweightedMean) {
  // A stale gradient leaves the same moments as a fresh one, and so the same next step.
  std::vector<float> way;
  for (const double weight : {1.0, 0.125}) {
    Adam adam(Adam::Decay::kInGradient, {}, 1);
    Aggregate aggregate(1, Reduce::kWorkerOrder, !adam.scale_invariant());
    std::ignore = aggregate.add(
        {.worker = WorkerId{0}, .release = Sequence{1}, .weight = weight, .examples = 4}, {2.0F});
    float moved = 0.0F;
    adam.step({.rate = 0.5, .mean_weight = aggregate.mean_weight(), .weight_decay = 0},
              aggregate.mean(),
              {&moved, 1});
    EXPECT_NEAR(moved, -0.5 * weight, 1e-6);
    way.push_back(stepped(adam, kUnit, 1.0F, 0.0F));
  }
  EXPECT_EQ(way[0], way[1]);
}

TEST(Adam, PutsTheDecayIntoTheMomentsAndAdamwBesideThem) {
  const Step decaying{.rate = 0.1, .mean_weight = 0.5, .weight_decay = 0.5};
  Adam adamw(Adam::Decay::kDecoupled, kOptions, 1);
  // No gradient, no moments: only 2 * (1 - 0.1 * 0.5 * 0.5) remains.
  EXPECT_NEAR(stepped(adamw, decaying, 0.0F, 2.0F), 1.95, 1e-6);
  Adam adam(Adam::Decay::kInGradient, kOptions, 1);
  // g' = 0.5, whose size adam does not see: 2 - 0.1 * 0.5
  EXPECT_NEAR(stepped(adam, decaying, 0.0F, 2.0F), 1.95, 1e-6);
  // The moments remember it, those of adamw have nothing to remember.
  EXPECT_LT(stepped(adam, kUnit, 0.0F, 0.0F), -0.1F);
  EXPECT_EQ(stepped(adamw, kUnit, 0.0F, 0.0F), 0.0F);
}

// What the weight of stale gradients scales is the step: the direction between gradient and decay
// is the same as without it.
TEST(Adam, StepsInTheSameDirectionWhateverTheWeight) {
  Adam whole(Adam::Decay::kInGradient, kOptions, 2);
  Adam tenth(Adam::Decay::kInGradient, kOptions, 2);
  const std::vector<float> gradient{-1.0F, 1.0F};
  std::vector<float> a{2.0F, 2.0F};
  std::vector<float> b{2.0F, 2.0F};
  whole.step({.rate = 0.01, .mean_weight = 1.0, .weight_decay = 1.0}, gradient, a);
  tenth.step({.rate = 0.1, .mean_weight = 0.1, .weight_decay = 1.0}, gradient, b);
  EXPECT_EQ(a, b);  // Both weights fall: -1 + 2 is above 0.
  EXPECT_LT(b[0], 2.0F);
}

TEST(Adam, StaysFiniteForTheGreatestGradient) {
  Adam adam(Adam::Decay::kInGradient, {}, 1);
  EXPECT_EQ(stepped(adam, kUnit, FLT_MAX, 1.0F), 1.0F);
  EXPECT_TRUE(std::isfinite(stepped(adam, kUnit, -FLT_MAX, 1.0F)));
}

// Kingma & Ba, algorithm 1, as it is printed there.
struct PlainAdam {
  bool decoupled = false;
  int t = 0;
  double m = 0.0;
  double v = 0.0;

  double operator()(const Step& step, double g, double w) {
    t += 1;
    g += decoupled ? 0.0 : step.weight_decay * w;
    m = 0.9 * m + 0.1 * g;
    v = 0.99 * v + 0.01 * g * g;
    const double m_hat = m / (1.0 - std::pow(0.9, t));
    const double v_hat = v / (1.0 - std::pow(0.99, t));
    const double rate = step.rate * step.mean_weight;
    const double decayed = w - (decoupled ? rate * step.weight_decay * w : 0.0);
    return decayed - rate * m_hat / (std::sqrt(v_hat) + 1e-6);
  }
};

TEST(Adam, WalksLikeAPlainImplementation) {
  expect_walks_like("adam:beta2=0.99,epsilon=1e-6", [] { return PlainAdam{}; });
}

TEST(Adamw, WalksLikeAPlainImplementation) {
  expect_walks_like("adamw:beta2=0.99,epsilon=1e-6", [] { return PlainAdam{.decoupled = true}; });
}

}  // namespace
}  // namespace outpace::update

#include "update/single_step.h"

#include <cfloat>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::update {
namespace {

// Vieta's substitution y = z - p / (3 z) in y^3 + p y + p = 0, y = x - 1.
double by_formula(double p) {
  const double w = (-std::sqrt(p * p + 4.0 / 27.0 * p * p * p) - p) / 2.0;
  const double z = std::cbrt(w);
  return z - p / (3.0 * z) + 1.0;
}

TEST(SingleStep, SolvesTheCubicAsTheFormulaDoes) {
  for (double p = 1e-6; p < 1e6; p *= 1.7) {
    const double x = cubic_root(p);
    // Where the formula's two terms cancel, it is off by their rounding.
    EXPECT_NEAR(x, by_formula(p), 4 * DBL_EPSILON * (1.0 + std::sqrt(p))) << p;
    EXPECT_NEAR((1 - x) * (1 - x) * (1 - x), p * x, 1e-15 * (1.0 + p * x)) << p;
  }
}

TEST(SingleStep, SolvesTheCubicAtItsEnds) {
  EXPECT_NEAR(cubic_root(0.0), 1.0, 1e-12);
  EXPECT_EQ(cubic_root(std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(cubic_root(DBL_MAX), 0.0 + 1.0 / DBL_MAX);
  EXPECT_NEAR(cubic_root(0.25), 0.5, 1e-15);  // (1/2)^3 = 1/4 * 1/2
}

TEST(SingleStep, TakesNoMomentumWithoutNoiseAndWithoutRange) {
  const Tuned tuned = single_step({.h_min = 4, .h_max = 4, .variance = 0, .distance = 3});
  EXPECT_EQ(tuned.mu, 0.0);
  EXPECT_EQ(tuned.alpha, 0.25);
}

// Polyak's momentum for curvatures from 1 to 9: ((3 - 1) / (3 + 1))^2.
TEST(SingleStep, TakesPolyaksMomentumForTheRange) {
  const Tuned tuned = single_step({.h_min = 1, .h_max = 9, .variance = 0, .distance = 3});
  EXPECT_NEAR(tuned.mu, 0.25, 1e-15);
  EXPECT_NEAR(tuned.alpha, 0.25, 1e-15);  // (1 - 1/2)^2 / 1
}

TEST(SingleStep, StaysBelowOneWhateverTheRange) {
  for (const double h_max : {1e20, DBL_MAX}) {
    const Tuned tuned =
        single_step({.h_min = 1e-200, .h_max = h_max, .variance = 1, .distance = 1});
    EXPECT_LT(tuned.mu, 1.0);
    EXPECT_GT(tuned.alpha, 0.0);
    EXPECT_TRUE(std::isfinite(tuned.alpha));
  }
}

// What the equation asks for: no other momentum in range has a smaller mu D^2 + alpha^2 C.
TEST(SingleStep, IsTheLeastOfItsObjective) {
  constexpr std::uint64_t kSeed = 20190331;
  Rng rng(kSeed, 0);
  for (int trial = 0; trial < 1000; ++trial) {
    const double h_min = std::exp(4.0 * rng.normal());
    const Landscape land{.h_min = h_min,
                         .h_max = h_min * std::exp(std::abs(rng.normal())),
                         .variance = std::exp(4.0 * rng.normal()),
                         .distance = std::exp(4.0 * rng.normal())};
    const auto objective = [&land](double root) {
      const double alpha = (1.0 - root) * (1.0 - root) / land.h_min;
      return root * root * land.distance * land.distance + alpha * alpha * land.variance;
    };
    const double range = std::sqrt(land.h_max / land.h_min);
    const double least = (range - 1.0) / (range + 1.0);
    const double found = std::sqrt(single_step(land).mu);
    ASSERT_GE(found, least - 1e-15) << "trial " << trial << ", seed " << kSeed;
    for (double root = least; root < 1.0; root += 0.001) {
      ASSERT_LE(objective(found), objective(root) * (1.0 + 1e-12))
          << "trial " << trial << ", seed " << kSeed;
    }
  }
}

}  // namespace
}  // namespace outpace::update

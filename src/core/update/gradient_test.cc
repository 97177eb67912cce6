#include "update/gradient.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::update {
namespace {

TEST(SquaredNorm, IsTheSumOfSquares) {
  EXPECT_EQ(squared_norm({}), 0.0);
  EXPECT_EQ(squared_norm(std::vector<float>{3.0F, -4.0F}), 25.0);
  std::vector<float> ramp;  // 1 + 4 + ... + 19^2 = 19 * 20 * 39 / 6
  for (int i = 1; i <= 19; ++i) {
    ramp.push_back(static_cast<float>(i));
  }
  EXPECT_EQ(squared_norm(ramp), 2470.0);
}

TEST(SquaredNorm, AgreesWithOnePlainSum) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed, 0);
    std::vector<float> gradient(rng.below(100));
    long double sum = 0.0L;
    for (float& value : gradient) {
      value = static_cast<float>(rng.normal());
      sum += static_cast<long double>(value) * static_cast<long double>(value);
    }
    EXPECT_NEAR(squared_norm(gradient), static_cast<double>(sum), 1e-12) << "seed " << seed;
  }
}

TEST(SquaredNorm, IsFiniteForManyOfTheGreatestNumbers) {
  EXPECT_TRUE(std::isfinite(squared_norm(std::vector<float>(1000000, 3e38F))));
  EXPECT_TRUE(std::isfinite(squared_norm(std::vector<float>(1000000, -FLT_MAX))));
}

TEST(SquaredNorm, IsNotFiniteIfOneNumberIsNotWhereverItStands) {
  using Limits = std::numeric_limits<float>;
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    for (std::size_t place = 0; place < 27; ++place) {
      std::vector<float> gradient(27, 1.0F);
      gradient[place] = bad;
      EXPECT_FALSE(std::isfinite(squared_norm(gradient))) << bad << " at " << place;
    }
  }
  // An infinity and its opposite do not cancel.
  EXPECT_FALSE(
      std::isfinite(squared_norm(std::vector<float>{Limits::infinity(), -Limits::infinity()})));
}

TEST(Clip, ScalesALongGradientToTheLimit) {
  std::vector<float> gradient{3.0F, -4.0F};
  EXPECT_TRUE(clip(gradient, 25.0, 2.5));
  EXPECT_EQ(gradient, (std::vector<float>{1.5F, -2.0F}));
}

TEST(Clip, LeavesAGradientWithinTheLimit) {
  std::vector<float> gradient{3.0F, -4.0F};
  EXPECT_FALSE(clip(gradient, 25.0, 5.0));
  EXPECT_FALSE(clip(gradient, 25.0, 1e9));
  EXPECT_EQ(gradient, (std::vector<float>{3.0F, -4.0F}));
  std::vector<float> zero{0.0F};
  EXPECT_FALSE(clip(zero, 0.0, 1e-300));
}

TEST(Clip, UsesTheNormOfTheWholeGradientForASliceOfIt) {
  std::vector<float> slice{3.0F};  // A slice of (3, 4).
  EXPECT_TRUE(clip(slice, 25.0, 2.5));
  EXPECT_EQ(slice, std::vector<float>{1.5F});
}

TEST(Clip, KeepsTheDirectionOfTheGreatestGradients) {
  std::vector<float> gradient(100, FLT_MAX);
  EXPECT_TRUE(clip(gradient, squared_norm(gradient), 1e-6));
  for (const float value : gradient) {
    EXPECT_NEAR(value, 1e-7, 1e-13);
  }
}

TEST(Clip, BringsAnyGradientToTheLimitUpToRounding) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed, 0);
    std::vector<float> gradient(1 + rng.below(100));
    for (float& value : gradient) {
      value = static_cast<float>(rng.normal() * std::exp(10.0 * rng.normal()));
    }
    const double limit = rng.exponential();
    const double before = std::sqrt(squared_norm(gradient));
    const bool clipped = clip(gradient, before * before, limit);
    const double after = std::sqrt(squared_norm(gradient));
    EXPECT_EQ(clipped, before > limit) << "seed " << seed;
    EXPECT_NEAR(after, std::min(before, limit), 1e-6 * limit) << "seed " << seed;
  }
}

}  // namespace
}  // namespace outpace::update

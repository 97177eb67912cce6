#include "base/normal_distribution.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace outpace {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

TEST(NormalCdf, HasTheTablesValues) {
  EXPECT_EQ(normal_cdf(0.0), 0.5);
  EXPECT_NEAR(normal_cdf(1.0), 0.841344746068542949, 1e-15);
  EXPECT_NEAR(normal_cdf(-3.0), 0.00134989803163009453, 1e-17);
  EXPECT_EQ(normal_cdf(-40.0), 0.0);
  EXPECT_EQ(normal_cdf(40.0), 1.0);
}

TEST(NormalQuantile, InvertsTheCdfInTheMiddleAndFarOut) {
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  for (double p = 1e-300; p < 0.6; p *= 1.37) {
    // Rounding leaves x right to a few units in the last place, say four; each moves the cdf by a
    // relative epsilon x^2, for the tail is about exp(-x^2 / 2).
    const double x = normal_quantile(p);
    EXPECT_NEAR(normal_cdf(x) / p, 1.0, 4 * kEpsilon * (4 + x * x)) << p;
  }
  for (double q = 0.001; q < 0.5; q += 0.001) {
    EXPECT_NEAR(normal_quantile(1.0 - q), -normal_quantile(q), 1e-13);
  }
  EXPECT_TRUE(std::isfinite(normal_quantile(1.0 - 0x1p-53)));
}

}  // namespace
}  // namespace outpace

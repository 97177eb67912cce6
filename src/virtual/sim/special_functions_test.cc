#include "sim/special_functions.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::sim {
namespace {

TEST(GammaCdf, OfAWholeShapeIsAPoissonSum) {
  for (const int shape : {1, 2, 7, 40}) {
    for (double x = 0.05; x < 100; x *= 1.3) {
      double term = std::exp(-x);
      double fewer = 0.0;  // P(fewer than `shape` points by x).
      for (int i = 0; i < shape; ++i) {
        fewer += term;
        term *= x / (i + 1);
      }
      EXPECT_NEAR(gamma_cdf(shape, x), 1.0 - fewer, 1e-13) << shape << " " << x;
    }
  }
  EXPECT_EQ(gamma_cdf(3.0, 0.0), 0.0);
  EXPECT_EQ(gamma_cdf(3.0, HUGE_VAL), 1.0);
}

TEST(GammaCdf, OfAHalfIsAnErrorFunction) {
  for (double x = 1e-6; x < 30; x *= 1.7) {
    EXPECT_NEAR(gamma_cdf(0.5, x), std::erf(std::sqrt(x)), 1e-14) << x;
  }
}

TEST(BetaCdf, OfWholeNumbersIsABinomialTail) {
  // I_x(k, n - k + 1) = P(at least k of n), each with probability x.
  for (const int n : {1, 2, 5, 30}) {
    for (int k = 1; k <= n; ++k) {
      for (double x = 0.03; x < 1; x += 0.03) {
        double term = std::pow(1.0 - x, n);
        double at_least = k == 0 ? term : 0.0;
        for (int i = 1; i <= n; ++i) {
          term *= (n - i + 1.0) / i * x / (1.0 - x);
          at_least += i >= k ? term : 0.0;
        }
        EXPECT_NEAR(beta_cdf({.a = 1.0 * k, .b = n - k + 1.0}, x), at_least, 1e-12);
      }
    }
  }
}

TEST(BetaCdf, KnowsItsEndsAndItsMirror) {
  EXPECT_EQ(beta_cdf({.a = 3, .b = 4}, 0.0), 0.0);
  EXPECT_EQ(beta_cdf({.a = 3, .b = 4}, 1.0), 1.0);
  for (double x = 0.49; x < 0.51; x += 0.001) {
    const double here = beta_cdf({.a = 50'000, .b = 50'001}, x);
    EXPECT_NEAR(here + beta_cdf({.a = 50'001, .b = 50'000}, 1.0 - x), 1.0, 1e-10) << x;
    // Many coins are as good as normal: Berry & Esseen's 0.4748 / sqrt(n).
    EXPECT_NEAR(here, normal_cdf((x - 0.5) / (0.5 / std::sqrt(1e5))), 0.4748 / std::sqrt(1e5) * 2);
  }
}

}  // namespace
}  // namespace outpace::sim

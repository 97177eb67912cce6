#include "sim/order_statistics_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/normal_distribution.h"
#include "sim/sample_test.h"
#include "sim/simple_distributions.h"

namespace outpace::sim {
namespace {

TEST(ExpectedOrderStatistic, OfUniformRuntimesIsKOfNPlusOne) {
  const auto cdf = [](double t) { return std::clamp(t, 0.0, 1.0); };
  for (const std::uint32_t n : {1U, 2U, 8U, 100U, 100'000U}) {
    for (const std::uint32_t k : {1U, (n + 1) / 2, n}) {
      const double exact = k / (n + 1.0);
      EXPECT_NEAR(expected_order_statistic(cdf, {.k = k, .n = n}), exact, 2e-9 * exact)
          << k << " of " << n;
    }
  }
}

TEST(ExpectedOrderStatistic, OfExponentialRuntimesIsASumOfTheirReciprocals) {
  const auto cdf = [](double t) { return -std::expm1(-t / 0.1); };
  for (const std::uint32_t n : {1U, 2U, 30U, 1000U}) {
    double exact = 0.0;
    for (std::uint32_t k = 1; k <= n; ++k) {
      exact += 0.1 / (n - k + 1);
      if (k % 97 == 0 || k <= 3 || k == n) {
        EXPECT_NEAR(expected_order_statistic(cdf, {.k = k, .n = n}), exact, 1e-9 * exact)
            << k << " of " << n;
      }
    }
  }
}

TEST(ExpectedOrderStatistic, OfNormalRuntimesHasTheKnownClosedForms) {
  // David & Nagaraja, section 3.2: the largest of 2, 3, 4 and 5 standard normal variables.
  using std::numbers::inv_sqrtpi;
  using std::numbers::pi;
  const double two = inv_sqrtpi;
  const double three = 1.5 * inv_sqrtpi;
  const double four = 3.0 * inv_sqrtpi * (0.5 + std::asin(1.0 / 3.0) / pi);
  const double five = 5.0 * inv_sqrtpi * (0.25 + 1.5 * std::asin(1.0 / 3.0) / pi);
  const double mean = 50.0;
  const auto cdf = [=](double t) { return normal_cdf(t - mean); };
  std::uint32_t n = 2;
  for (const double exact : {two, three, four, five}) {
    EXPECT_NEAR(expected_order_statistic(cdf, {.k = n, .n = n}), mean + exact, 1e-9 * mean) << n;
    EXPECT_NEAR(expected_order_statistic(cdf, {.k = 1, .n = n}), mean - exact, 1e-9 * mean) << n;
    ++n;
  }
  EXPECT_NEAR(expected_order_statistic(cdf, {.k = 2, .n = 3}), mean, 1e-9 * mean);
}

TEST(ExpectedOrderStatistic, OfParetoRuntimesIsARatioOfGammaFunctions) {
  // E[x_(k)] of P(X > x) = (1 + x)^-a is that of Pareto's type I, less 1.
  const double a = 2.5;
  const auto cdf = [=](double t) { return -std::expm1(-a * std::log1p(t)); };
  for (const double k : {1.0, 20.0, 31.0}) {
    const double n = 32;
    const double exact = std::exp(std::lgamma(n + 1) - std::lgamma(n - k + 1) +
                                  std::lgamma(n - k + 1 - 1 / a) - std::lgamma(n + 1 - 1 / a)) -
                         1;
    const Order order{.k = static_cast<std::uint32_t>(k), .n = 32};
    EXPECT_NEAR(expected_order_statistic(cdf, order), exact, 1e-9 * exact) << k;
  }
}

TEST(ExpectedOrderStatistic, JumpsOverTheGapsOfWhatIsNotContinuous) {
  // 3/4 take 1 s, 1/4 take 5 s: the slowest of 4 takes 1 s if all four are fast.
  const auto cdf = [](double t) { return t < 1 ? 0.0 : t < 5 ? 0.75 : 1.0; };
  const double all_fast = std::pow(0.75, 4);
  EXPECT_NEAR(
      expected_order_statistic(cdf, {.k = 4, .n = 4}), all_fast + 5 * (1 - all_fast), 1e-9 * 5);
  const double all_slow = std::pow(0.25, 4);
  EXPECT_NEAR(
      expected_order_statistic(cdf, {.k = 1, .n = 4}), 5 * all_slow + (1 - all_slow), 1e-9 * 5);
}

TEST(ExpectedOrderStatistic, KnowsNoScale) {
  for (const double scale : {1e-9, 1e-3, 1.0, 1e6, 1e9}) {
    const auto cdf = [=](double t) { return -std::expm1(-t / scale); };
    EXPECT_NEAR(expected_order_statistic(cdf, {.k = 2, .n = 2}), 1.5 * scale, 1.5e-9 * scale);
  }
}

TEST(ExpectedOrderStatistic, IsWhatDrawnRuntimesTakeOnAverage) {
  constexpr std::uint32_t kWorkers = 32;
  constexpr std::uint32_t kRounds = 20'000;
  const Normal normal({.mean = 0.1, .cv = 0.3});
  std::vector<std::vector<double>> ordered(kWorkers);
  std::vector<double> round(kWorkers);
  for (std::uint32_t iteration = 0; iteration < kRounds; ++iteration) {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      round[worker] = normal.draw({.seed = 3,
                                   .worker = WorkerId{worker},
                                   .rank = worker,
                                   .iteration = iteration,
                                   .start = Time{}});
    }
    std::sort(round.begin(), round.end());
    for (std::uint32_t i = 0; i < kWorkers; ++i) {
      ordered[i].push_back(round[i]);
    }
  }
  for (std::uint32_t k = 1; k <= kWorkers; ++k) {
    const double expected =
        expected_order_statistic([&](double t) { return *normal.cdf(t); }, {.k = k, .n = kWorkers});
    const double variance = moment(ordered[k - 1], expected, 2);
    EXPECT_NEAR(moment(ordered[k - 1], 0, 1), expected, kDeviations * std::sqrt(variance / kRounds))
        << "seed 3, " << k;
  }
}

}  // namespace
}  // namespace outpace::sim

#include "runtime_model/draws.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

// E[x_(c)] of n exponentials with mean 1 is H_n - H_(n-c) (Renyi 1953).
TEST(Draws, ExpectedOrderStatisticsOfExponentialsAreTheClosedForm) {
  constexpr std::uint32_t kWorkers = 4;
  Forecast forecast;
  const TimeGrid grid(1e-4, 0.01, 1200);
  forecast.reset(grid, kWorkers);
  std::vector<float> mass(grid.bins());
  for (std::uint32_t i = 0; i < grid.bins(); ++i) {
    mass[i] = static_cast<float>(std::exp(-grid.edge(i)) - std::exp(-grid.edge(i + 1.0)));
  }
  const std::vector<std::uint32_t> workers{0, 1, 2, 3};
  for (const std::uint32_t w : workers) {
    forecast.set_row(w, mass);
  }
  Draws draws;
  constexpr std::uint32_t kCount = 4096;
  draws.draw(forecast, workers, kCount, 1);
  double expected = 0.0;
  double variance = 0.0;
  for (std::uint32_t c = 1; c <= kWorkers; ++c) {
    const double left = kWorkers - c + 1;
    expected += 1.0 / left;
    variance += 1.0 / (left * left);
    EXPECT_NEAR(draws.mean(c), expected, 4.0 * std::sqrt(variance / kCount)) << c;
  }
}

TEST(Draws, OnlyOfTheWorkersThatTakePartAndInOrder) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), 3);
  const std::vector<double> seconds{1.0, 10.0, 2.0};
  forecast.set_lognormal_rows(seconds, 0.01);
  Draws draws;
  const std::vector<std::uint32_t> workers{2, 0};
  draws.draw(forecast, workers, 32, 7);
  for (std::uint32_t k = 0; k < draws.count(); ++k) {
    ASSERT_EQ(draws.sorted(k).size(), 2U);
    EXPECT_NEAR(draws.sorted(k)[0], 1.0, 0.06);
    EXPECT_NEAR(draws.sorted(k)[1], 2.0, 0.12);
  }
  EXPECT_NEAR(draws.quantile(2, 0.5), 2.0, 0.03);
  EXPECT_LT(draws.quantile(2, 0.1), draws.quantile(2, 0.9));
}

TEST(Draws, HaveAShiftForAllWorkersOrForNone) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), 2);
  const std::vector<double> seconds{1.0, 2.0};
  forecast.set_lognormal_rows(seconds, 0.01);
  const std::vector<Forecast::Shift> shifts{{.bins = 0.0, .chance = 0.75},
                                            {.bins = 100.0 * std::log(10.0), .chance = 0.25}};
  forecast.set_shifts(shifts);
  Draws draws;
  const std::vector<std::uint32_t> workers{0, 1};
  draws.draw(forecast, workers, 1024, 3);
  std::uint32_t shifted = 0;
  for (std::uint32_t k = 0; k < draws.count(); ++k) {
    const bool slow = draws.sorted(k)[0] > 5.0F;
    EXPECT_NEAR(draws.sorted(k)[1] / draws.sorted(k)[0], 2.0, 0.2);
    shifted += slow ? 1U : 0U;
  }
  // A quarter of 1,024, to four standard deviations of 14.
  EXPECT_NEAR(shifted, 256.0, 56.0);
}

// The largest error of the formula for N(0, 1), by numerical integration: 0.036 (8 workers), 0.011
// (32), 0.008 (158). Here against the exact mean of the largest: Harter, "Expected Values of Normal
// Order Statistics", Biometrika 1961.
TEST(Draws, ExpectedOrderStatisticsOfWorkersThatAreAlikeFollowElfvingsFormula) {
  EXPECT_NEAR(elfving_mean({.mean = 0.0, .sigma = 1.0}, 8, 8), 1.42360, 0.036);
  EXPECT_NEAR(elfving_mean({.mean = 0.0, .sigma = 1.0}, 32, 32), 2.06967, 0.011);
  EXPECT_NEAR(elfving_mean({.mean = 3.0, .sigma = 2.0}, 3, 5), 3.0, 1e-12);  // The median.
  constexpr std::uint32_t kWorkers = 8;
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), kWorkers);
  forecast.set_normal_rows({.mean = 1.0, .sigma = 0.1});
  const std::vector<std::uint32_t> workers{0, 1, 2, 3, 4, 5, 6, 7};
  Draws draws;
  draws.draw(forecast, workers, 64, 1);
  for (std::uint32_t c = 1; c <= kWorkers; ++c) {
    EXPECT_EQ(draws.mean(c), elfving_mean({.mean = 1.0, .sigma = 0.1}, c, kWorkers));
  }
  forecast.delay_row(0, 1.0);  // Now they differ, and the draws count.
  draws.draw(forecast, workers, 64, 1);
  EXPECT_GT(draws.mean(kWorkers), 1.5);
}

TEST(Draws, AreFewerWithMoreWorkers) {
  EXPECT_EQ(draws_for(1), 256U);
  EXPECT_EQ(draws_for(158), 64U);
  EXPECT_EQ(draws_for(2175), 32U);
}

}  // namespace
}  // namespace outpace::runtime_model

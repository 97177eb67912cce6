#include "runtime_model/forecast.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

TEST(TimeGrid, PlacesEdgesAConstantFactorApart) {
  const TimeGrid grid(0.5, std::log(2.0), 4);  // 0.5, 1, 2, 4, 8
  EXPECT_DOUBLE_EQ(grid.edge(3), 4.0);
  EXPECT_DOUBLE_EQ(grid.position(2.0), 2.0);
  EXPECT_EQ(grid.bin(3.0), 2U);
  EXPECT_EQ(grid.bin(100.0), 3U);  // Beyond it: the last bin.
  EXPECT_EQ(grid.position(0.0), 0.0);
}

TEST(Forecast, ARowSumsToOneAndItsQuantilesInvertIt) {
  Forecast forecast;
  forecast.reset(TimeGrid(1.0, 0.1, 4), 1);
  forecast.set_row(0, std::vector<float>{1.0F, 3.0F, 0.0F, 4.0F});
  EXPECT_EQ(forecast.row(0).back(), 1.0F);
  for (const double p : {0.05, 0.3, 0.49, 0.6, 0.99}) {
    EXPECT_NEAR(forecast.cdf(0, forecast.grid().position(forecast.quantile(0, p))), p, 1e-6);
  }
}

TEST(Forecast, TheMeanOfTheSlowestIsOfAllWorkers) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), 2);
  const std::vector<double> apart{1.0, 4.0};
  forecast.set_lognormal_rows(apart, 0.05);
  EXPECT_NEAR(forecast.mean_of_slowest(), 4.0 * std::exp(0.05 * 0.05 / 2.0), 0.03);
  const std::vector<double> equal{1.0, 1.0};
  forecast.set_lognormal_rows(equal, 0.1);  // E[max] of two standard normals is 1 / sqrt(pi).
  EXPECT_NEAR(forecast.mean_of_slowest(), std::exp(0.1 / std::sqrt(M_PI)), 0.01);
}

TEST(Forecast, ADelayedWorkerArrivesSoMuchLater) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), 2);
  const std::vector<double> seconds{1.0, 2.0};
  forecast.set_lognormal_rows(seconds, 0.05);
  EXPECT_NEAR(forecast.quantile(0, 0.5), 1.0, 0.01);
  EXPECT_NEAR(forecast.quantile(1, 0.5), 2.0, 0.02);
  forecast.delay_row(0, 3.0);
  EXPECT_NEAR(forecast.quantile(0, 0.5), 4.0, 0.04);
  EXPECT_NEAR(forecast.quantile(1, 0.5), 2.0, 0.02);
  EXPECT_EQ(forecast.cdf(0, forecast.grid().position(2.9)), 0.0);
}

}  // namespace
}  // namespace outpace::runtime_model

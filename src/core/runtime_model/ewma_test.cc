#include "runtime_model/ewma.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(Ewma, ForecastsEachWorkersLevelWithTheSpreadThatAllHad) {
  Ewma model;
  Forecast forecast;
  Rng rng(1, 0);
  for (int i = 0; i < 400; ++i) {
    model.observe(arrived(around({1.0, 4.0}, 0.1, rng)));
  }
  ASSERT_TRUE(model.forecast(forecast));
  // The level itself is off by 0.1 sqrt(a / (2 - a)) = 0.033.
  EXPECT_NEAR(std::log(forecast.quantile(0, 0.5)), 0.0, 0.1);
  EXPECT_NEAR(std::log(forecast.quantile(1, 0.5) / 4.0), 0.0, 0.1);
  // Residuals: sigma sqrt(1 + a / (2 - a)) = 0.105 on either side.
  const double up = std::log(forecast.quantile(0, 0.841345) / forecast.quantile(0, 0.5));
  EXPECT_NEAR(up, 0.105, 0.03);
}

TEST(Ewma, RisesToWhatACutOffWorkerWasGiven) {
  Ewma model;
  Forecast forecast;
  model.observe(arrived({1.0, 1.0}));
  model.observe(std::vector<Observation>{{.seconds = 1.0, .fate = Fate::kArrived},
                                         {.seconds = 2.0, .fate = Fate::kLonger}});
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_GE(forecast.quantile(1, 0.5), 1.9);
  EXPECT_NEAR(forecast.quantile(0, 0.5), 1.0, 0.05);
}

}  // namespace
}  // namespace outpace::runtime_model

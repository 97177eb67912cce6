#include "runtime_model/last.h"

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(Last, ForecastsWhatWasSeenLast) {
  Last model;
  Forecast forecast;
  EXPECT_FALSE(model.forecast(forecast));
  model.observe(arrived({1.0, 2.0}));
  model.observe(arrived({1.1, 4.0}));
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(0, 0.5), 1.1, 0.02);
  EXPECT_NEAR(forecast.quantile(1, 0.5), 4.0, 0.05);
}

TEST(Last, OneThatWasCutOffTookNoLessThanItWasGiven) {
  Last model;
  Forecast forecast;
  model.observe(arrived({1.0, 1.0}));
  model.observe(std::vector<Observation>{{.seconds = 1.0, .fate = Fate::kArrived},
                                         {.seconds = 3.0, .fate = Fate::kLonger}});
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(1, 0.5), 3.0, 0.04);
  model.correct(1, 5.0);
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(1, 0.5), 5.0, 0.07);
}

}  // namespace
}  // namespace outpace::runtime_model

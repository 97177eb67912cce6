#include "runtime_model/elfving.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(Elfving, AllWorkersHaveTheMomentsOfTheLastIteration) {
  Elfving model;
  Forecast forecast;
  EXPECT_FALSE(model.forecast(forecast));
  model.observe(arrived({9.0, 9.0, 9.0, 9.0, 9.0}));
  model.observe(arrived({1.0, 1.2, 0.8, 1.1, 0.9}));  // Mean 1, standard deviation 0.158.
  ASSERT_TRUE(model.forecast(forecast));
  const double sigma = std::sqrt(0.025);
  for (const std::uint32_t w : {0U, 4U}) {
    EXPECT_NEAR(forecast.quantile(w, 0.5), 1.0, 0.01);
    EXPECT_NEAR(forecast.quantile(w, 0.841345), 1.0 + sigma, 0.02);
  }
}

TEST(Elfving, TakesACutOffWorkerForWhatItWasGivenUntilItComes) {
  Elfving model;
  Forecast forecast;
  model.observe(std::vector<Observation>{{.seconds = 1.0, .fate = Fate::kArrived},
                                         {.seconds = 1.0, .fate = Fate::kLonger}});
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(0, 0.99), 1.0, 0.02);
  model.correct(1, 3.0);
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(0, 0.5), 2.0, 0.03);
}

}  // namespace
}  // namespace outpace::runtime_model

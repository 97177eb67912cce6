#include "runtime_model/forecast_score.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::runtime_model {
namespace {

TEST(ForecastScore, ATrueForecastCoversWhatItSaysAndAWrongOneScoresWorse) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), 3);
  const std::vector<double> seconds{1.0, 1.0, 2.0};
  forecast.set_lognormal_rows(seconds, 0.2);
  Forecast wrong = forecast;
  wrong.delay_row(2, 1.0);
  ForecastScore right_score;
  ForecastScore wrong_score;
  Rng rng(1, 0);
  constexpr int kIterations = 2000;
  for (int i = 0; i < kIterations; ++i) {
    std::vector<double> came;
    for (std::uint32_t w = 0; w < 3; ++w) {
      came.push_back(forecast.quantile(w, rng.uniform()));
    }
    std::sort(came.begin(), came.end());
    right_score.add(forecast, came);
    wrong_score.add(wrong, came);
  }
  // Of 6,000, in rows of three that hang together: a standard deviation of at most 0.011.
  EXPECT_NEAR(right_score.coverage50(), 0.5, 0.04);
  EXPECT_NEAR(right_score.coverage90(), 0.9, 0.025);
  EXPECT_LT(right_score.crps(), wrong_score.crps());
}

TEST(ForecastScore, WithoutForecastsThereIsNone) {
  EXPECT_TRUE(std::isnan(ForecastScore().crps()));
}

}  // namespace
}  // namespace outpace::runtime_model

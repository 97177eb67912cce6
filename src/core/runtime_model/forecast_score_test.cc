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
    for (ForecastScore* const score : {&right_score, &wrong_score}) {
      score->add(score == &right_score ? forecast : wrong, came, i >= 100);
      score->end(HUGE_VAL);
    }
  }
  // 5,700 values, in rows of three that hang together: a standard deviation of at most 0.011.
  EXPECT_NEAR(right_score.orders().in50, 0.5, 0.04);
  EXPECT_NEAR(right_score.orders().in90, 0.9, 0.025);
  EXPECT_NEAR(right_score.workers().in50, 0.5, 0.03);
  EXPECT_NEAR(right_score.workers().in90, 0.9, 0.02);
  EXPECT_LT(wrong_score.orders().in50, 0.42);
  EXPECT_LT(wrong_score.workers().in50, 0.4);
  EXPECT_LT(right_score.crps(), wrong_score.crps());
  // Recalibrated, even the wrong one covers what it says.
  EXPECT_NEAR(wrong_score.recalibrated().in50, 0.5, 0.04);
  EXPECT_NEAR(wrong_score.recalibrated().in90, 0.9, 0.025);
  EXPECT_LT(wrong_score.recalibrated_crps(), wrong_score.crps());
}

TEST(ForecastScore, AWorkersForecastIsThatOfAllShifts) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.1, 0.01, 600), 1);
  forecast.set_lognormal_rows(std::vector<double>{1.0}, 0.05);
  const std::vector<Forecast::Shift> shifts{{.bins = 0.0, .chance = 0.5},
                                            {.bins = 100.0 * std::log(3.0), .chance = 0.5}};
  forecast.set_shifts(shifts);
  ForecastScore score;
  score.add(forecast, std::vector<double>{1.7}, true);  // Between both: the median.
  EXPECT_EQ(score.workers().in50, 1.0);
}

// 64 or 256 draws of a perfect forecast: neither coverage nor score depends on how many.
TEST(ForecastScore, DoesNotDependOnTheNumberOfDraws) {
  Rng rng(2, 0);
  for (const std::uint32_t draws : {16U, 64U, 256U}) {
    Forecast forecast;
    forecast.reset(TimeGrid(0.1, 0.01, 600), 1);
    forecast.set_lognormal_rows(std::vector<double>{1.0}, 0.2);
    ForecastScore score;
    constexpr int kIterations = 8000;
    for (int i = 0; i < kIterations; ++i) {
      std::vector<float> ranks;
      for (std::uint32_t k = 0; k < draws; ++k) {
        ranks.push_back(static_cast<float>(std::clamp(rng.uniform(), 1e-6, 1.0 - 1e-6)));
      }
      forecast.set_ranks(ranks);
      score.add(forecast, std::vector<double>{forecast.quantile(0, rng.uniform())}, true);
    }
    // Four standard errors of 8,000.
    EXPECT_NEAR(score.orders().in50, 0.5, 0.0224) << draws;
    EXPECT_NEAR(score.orders().in90, 0.9, 0.0134) << draws;
    // exp(N(0, 0.2^2)): e^0.02 (2 Phi(0.2 / sqrt 2) - 1) by Gneiting and others, here 0.1147.
    EXPECT_NEAR(score.crps(), 0.1147, 0.004) << draws;
  }
}

TEST(ForecastScore, OfQuantilesIsTheirOwnFormula) {
  const std::vector<double> sorted{1.0, 2.0};
  // mean|x - 3| = 1.5; pairs: 1 if different, 1/2 with themselves.
  EXPECT_DOUBLE_EQ(crps_of(sorted, 3.0, SampleOf::kDraws), 1.5 - 0.5);
  EXPECT_DOUBLE_EQ(crps_of(sorted, 3.0, SampleOf::kQuantiles), 1.5 - 0.25);
}

TEST(ForecastScore, WithoutForecastsThereIsNone) {
  EXPECT_TRUE(std::isnan(ForecastScore().crps()));
}

}  // namespace
}  // namespace outpace::runtime_model

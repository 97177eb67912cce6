#include "runtime_model/calibrating.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

constexpr double kTrueSigma = 0.1;

// Forecasts exp(N(0, sigma^2)) for four workers, with these shifts.
class Fixed final : public RuntimeModel {
 public:
  explicit Fixed(double sigma, std::vector<Forecast::Shift> shifts = {{}})
      : sigma_(sigma), shifts_(std::move(shifts)) {}
  void observe(std::span<const Observation> /*iteration*/) override {}
  void correct(std::uint32_t /*worker*/, double /*seconds*/) override {}
  void keep(Archive& /*archive*/) override {}
  bool forecast(Forecast& out) override {
    out.reset(TimeGrid(0.1, 0.0125, 600), 4);
    out.set_lognormal_rows(std::vector<double>(4, 1.0), sigma_);
    out.set_shifts(shifts_);
    return true;
  }

 private:
  double sigma_;
  std::vector<Forecast::Shift> shifts_;
};

// The forecast after 300 iterations of runtimes exp(N(0, 0.1^2)), those longer than `cut` cut off.
Forecast after_learning(std::unique_ptr<RuntimeModel> model, double cut) {
  Calibrating calibrating(std::move(model));
  Forecast forecast;
  Rng rng(1, 0);
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(calibrating.forecast(forecast));
    std::vector<Observation> seen;
    for (const double seconds : around({1.0, 1.0, 1.0, 1.0}, kTrueSigma, rng)) {
      seen.push_back({.seconds = std::min(seconds, cut),
                      .fate = seconds > cut ? Fate::kLonger : Fate::kArrived});
    }
    calibrating.observe(seen);
  }
  EXPECT_TRUE(calibrating.forecast(forecast));
  return forecast;
}

double spread(const Forecast& forecast, double from, double to) {
  return std::log(forecast.quantile(0, to) / forecast.quantile(0, from));
}

// By some 400 past runtimes, to four standard errors. Where the forecast is too narrow, 20.6 % of
// them are in the last part, and it has the forecast's own shape: 0.95 is its 0.9879.
TEST(Calibrating, AForecastGetsTheSpreadOfPastRuntimes) {
  for (const auto& [sigma, within90] : {std::pair{0.05, 2.0 * 2.254 * 0.05},
                                        std::pair{0.1, 2.0 * 1.6449 * kTrueSigma},
                                        std::pair{0.3, 2.0 * 1.6449 * kTrueSigma}}) {
    const Forecast forecast = after_learning(std::make_unique<Fixed>(sigma), HUGE_VAL);
    EXPECT_NEAR(spread(forecast, 0.25, 0.75), 2.0 * 0.6745 * kTrueSigma, 0.04) << sigma;
    EXPECT_NEAR(spread(forecast, 0.05, 0.95), within90, 0.06) << sigma;
  }
}

TEST(Calibrating, WhatWasCutOffCountsAsLonger) {
  // The longest 31 % are cut off. Below the cutoff, the shares are those of all runtimes.
  const double cut = std::exp(0.5 * kTrueSigma);
  const Forecast forecast = after_learning(std::make_unique<Fixed>(0.3), cut);
  const double position = forecast.grid().position(cut);
  EXPECT_NEAR(forecast.cdf(0, position), 0.691, 0.1);
  EXPECT_NEAR(spread(forecast, 0.1, 0.5), 1.2816 * kTrueSigma, 0.05);
}

TEST(Calibrating, SeveralShiftsAreLeftAsTheyAre) {
  const std::vector<Forecast::Shift> shifts{{.bins = 0.0, .chance = 0.9},
                                            {.bins = 40.0, .chance = 0.1}};
  const Forecast forecast = after_learning(std::make_unique<Fixed>(0.3, shifts), HUGE_VAL);
  EXPECT_NEAR(spread(forecast, 0.25, 0.75), 2.0 * 0.6745 * 0.3, 0.01);
}

TEST(Calibrating, BeforeItKnowsAnythingTheForecastIsTheModels) {
  Calibrating calibrating(std::make_unique<Fixed>(0.3));
  Forecast forecast;
  ASSERT_TRUE(calibrating.forecast(forecast));
  EXPECT_NEAR(spread(forecast, 0.25, 0.75), 2.0 * 0.6745 * 0.3, 0.01);
}

}  // namespace
}  // namespace outpace::runtime_model

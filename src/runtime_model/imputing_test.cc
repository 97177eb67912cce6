#include "runtime_model/imputing.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

// Predicts exp(N(0, 1)) for two workers, and keeps what it is shown.
class Told final : public RuntimeModel {
 public:
  explicit Told(std::vector<std::vector<Observation>>& shown) : shown_(shown) {}
  void observe(std::span<const Observation> iteration) override {
    shown_.emplace_back(iteration.begin(), iteration.end());
  }
  void correct(std::uint32_t /*worker*/, double /*seconds*/) override { ADD_FAILURE(); }
  void keep(Archive& /*archive*/) override {}
  bool forecast(Forecast& out) override {
    out.reset(grid_around(arrived({1.0})), 2);
    out.set_lognormal_rows(std::vector<double>{1.0, 1.0}, 1.0);
    return true;
  }

 private:
  std::vector<std::vector<Observation>>& shown_;
};

// The values imputed in `iterations` iterations for a worker that was cut off at 1 s, the median,
// in ascending order.
std::vector<double> imputed(Imputation imputation, int iterations) {
  std::vector<std::vector<Observation>> shown;
  Imputing model(std::make_unique<Told>(shown), imputation);
  Forecast forecast;
  std::vector<double> seconds;
  for (int i = 0; i < iterations; ++i) {
    EXPECT_TRUE(model.forecast(forecast));
    model.observe(std::vector<Observation>{{.seconds = 0.5, .fate = Fate::kArrived},
                                           {.seconds = 1.0, .fate = Fate::kLonger}});
    EXPECT_EQ(shown.back()[0].seconds, 0.5);
    EXPECT_EQ(shown.back()[1].fate, Fate::kArrived);
    seconds.push_back(shown.back()[1].seconds);
    model.correct(1, 7.0);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

TEST(Imputing, PlainDrawsAreOfTheWholeForecast) {
  const std::vector<double> seconds = imputed(Imputation::kPlain, 4000);
  EXPECT_NEAR(seconds[2000], 1.0, 0.08);     // The standard error of a median here: 0.02.
  EXPECT_NEAR(seconds[1000], 0.5094, 0.05);  // exp(-0.6745).
  EXPECT_NEAR(seconds[3000], 1.9630, 0.2);
}

TEST(Imputing, TruncatedDrawsAreLongerThanWhatWasGiven) {
  const std::vector<double> seconds = imputed(Imputation::kTruncated, 4000);
  EXPECT_GE(seconds.front(), 1.0);
  EXPECT_NEAR(seconds[2000], 1.9630, 0.15);  // The upper half's median is the upper quartile.
}

TEST(Imputing, WithoutAForecastShowsWhatWasSeen) {
  std::vector<std::vector<Observation>> shown;
  Imputing model(std::make_unique<Told>(shown), Imputation::kTruncated);
  model.observe(std::vector<Observation>{{.seconds = 1.0, .fate = Fate::kLonger}, {}});
  EXPECT_EQ(shown.back()[0].fate, Fate::kLonger);
  EXPECT_EQ(shown.back()[1].fate, Fate::kBusy);
}

}  // namespace
}  // namespace outpace::runtime_model

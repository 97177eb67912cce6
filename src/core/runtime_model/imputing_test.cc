#include "runtime_model/imputing.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
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
    out.reset(grid_around(1.0), 2);
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

// Predicts exp(N(0, 1)) for two workers, with joint draws of these ranks.
class Together final : public RuntimeModel {
 public:
  Together(std::vector<std::vector<Observation>>& shown, std::vector<float> ranks)
      : shown_(shown), ranks_(std::move(ranks)) {}
  void observe(std::span<const Observation> iteration) override {
    shown_.emplace_back(iteration.begin(), iteration.end());
  }
  void correct(std::uint32_t /*worker*/, double /*seconds*/) override {}
  void keep(Archive& /*archive*/) override {}
  bool forecast(Forecast& out) override {
    out.reset(grid_around(1.0), 2);
    out.set_lognormal_rows(std::vector<double>{1.0, 1.0}, 1.0);
    out.set_ranks(ranks_);
    return true;
  }

 private:
  std::vector<std::vector<Observation>>& shown_;
  std::vector<float> ranks_;
};

// What is imputed for two workers that were cut off after `given` seconds, in 400 iterations.
std::vector<std::vector<Observation>> imputed_together(Imputation imputation,
                                                       const std::vector<float>& ranks,
                                                       double given) {
  std::vector<std::vector<Observation>> shown;
  Imputing model(std::make_unique<Together>(shown, ranks), imputation);
  Forecast forecast;
  for (int i = 0; i < 400; ++i) {
    EXPECT_TRUE(model.forecast(forecast));
    model.observe(
        std::vector<Observation>(2, Observation{.seconds = given, .fate = Fate::kLonger}));
  }
  return shown;
}

// Ranks of two workers in four joint draws: alike within each draw.
const std::vector<float> kAlikeRanks{0.1F, 0.1F, 0.3F, 0.3F, 0.7F, 0.7F, 0.9F, 0.9F};

TEST(Imputing, AllWorkersThatWereCutOffAreOfOneJointDraw) {
  int slow = 0;
  for (const auto& row : imputed_together(Imputation::kPlain, kAlikeRanks, 1.0)) {
    EXPECT_DOUBLE_EQ(row[0].seconds, row[1].seconds);
    slow += row[0].seconds > 1.0 ? 1 : 0;
  }
  EXPECT_NEAR(slow, 200, 40);  // Four standard deviations of 10.
}

TEST(Imputing, ATruncatedJointDrawIsOneInWhichAllAreLonger) {
  int slowest = 0;
  for (const auto& row : imputed_together(Imputation::kTruncated, kAlikeRanks, 1.0)) {
    EXPECT_DOUBLE_EQ(row[0].seconds, row[1].seconds);
    EXPECT_GT(row[0].seconds, 1.0);
    slowest += row[0].seconds > 2.0 ? 1 : 0;
  }
  EXPECT_NEAR(slowest, 200, 40);  // Either of two draws.
}

TEST(Imputing, WithoutSuchADrawItIsTheOneInWhichTheMostAreLonger) {
  // The second draw has one longer worker. The other is drawn again, beyond what it was given.
  const std::vector<float> ranks{0.1F, 0.1F, 0.9F, 0.2F, 0.3F, 0.3F};
  std::vector<double> again;
  for (const auto& row : imputed_together(Imputation::kTruncated, ranks, 1.0)) {
    EXPECT_NEAR(row[0].seconds, std::exp(1.2816), 0.05);  // The quantile at 0.9.
    EXPECT_GE(row[1].seconds, 1.0);
    again.push_back(row[1].seconds);
  }
  std::sort(again.begin(), again.end());
  EXPECT_NEAR(again[200], 1.963, 0.4);  // The upper half's median, to four standard errors.
}

TEST(Imputing, IfNoDrawIsLongerAllAreDrawnAgain) {
  for (const auto& row : imputed_together(Imputation::kTruncated, kAlikeRanks, 5.0)) {
    EXPECT_GE(row[0].seconds, 5.0);
    EXPECT_GE(row[1].seconds, 5.0);
    EXPECT_NE(row[0].seconds, row[1].seconds);
  }
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

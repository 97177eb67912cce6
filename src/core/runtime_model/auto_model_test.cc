#include "runtime_model/auto_model.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/last.h"
#include "runtime_model/seen_test.h"
#include "runtime_model/switching.h"

namespace outpace::runtime_model {
namespace {

// Always forecasts the same, whatever it is shown.
class Stubborn final : public RuntimeModel {
 public:
  explicit Stubborn(double seconds) : seconds_(seconds) {}
  void observe(std::span<const Observation> iteration) override {
    if (workers_ == 0) {
      grid_ = grid_around(median_seconds(iteration));
      workers_ = static_cast<std::uint32_t>(iteration.size());
    }
  }
  void correct(std::uint32_t /*worker*/, double /*seconds*/) override {}
  void keep(Archive& /*archive*/) override {}
  bool forecast(Forecast& out) override {
    if (workers_ == 0) {
      return false;
    }
    out.reset(grid_, workers_);
    const std::vector<double> all(workers_, seconds_);
    out.set_lognormal_rows(all, 0.05);
    return true;
  }

 private:
  double seconds_;
  TimeGrid grid_;
  std::uint32_t workers_ = 0;
};

TEST(AutoModel, BelievesWhoForetoldBest) {
  std::vector<AutoModel::Candidate> candidates;
  candidates.push_back({.name = "wrong", .model = std::make_unique<Stubborn>(3.0)});
  candidates.push_back({.name = "right", .model = std::make_unique<Stubborn>(1.0)});
  AutoModel model(std::move(candidates));
  Forecast forecast;
  EXPECT_FALSE(model.forecast(forecast));
  model.observe(arrived({1.0, 1.02}));
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_EQ(model.believed(), "wrong");  // The first, without scores.
  model.observe(arrived({1.0, 1.02}));
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_EQ(model.believed(), "right");
  EXPECT_NEAR(forecast.quantile(0, 0.5), 1.0, 0.02);
}

TEST(AutoModel, ChangesItsMindWhenTheClusterChanges) {
  std::vector<AutoModel::Candidate> candidates;
  candidates.push_back({.name = "one", .model = std::make_unique<Stubborn>(1.0)});
  candidates.push_back({.name = "last", .model = std::make_unique<Last>()});
  AutoModel model(std::move(candidates));
  Forecast forecast;
  Rng rng(1, 0);
  const auto live = [&](double level, int iterations) {
    for (int i = 0; i < iterations; ++i) {
      (void)model.forecast(forecast);
      model.observe(arrived(around({level, level, level}, 0.05, rng)));
    }
    return model.believed();
  };
  EXPECT_EQ(live(1.0, 50), "one");
  EXPECT_EQ(live(5.0, 50), "last");
}

TEST(MeanLogLikelihood, IsOfTheDensityOrOfTheChanceOfALongerOne) {
  Forecast forecast;
  const TimeGrid grid(0.1, 0.01, 600);
  forecast.reset(grid, 2);
  const std::vector<double> seconds{1.0, 1.0};
  forecast.set_lognormal_rows(seconds, 0.1);
  const std::vector<Observation> one{{.seconds = 1.0, .fate = Fate::kArrived}, {}};
  // The top of N(0, 0.1^2) is 3.989 in log seconds; the grid's places are a tenth of sigma apart.
  EXPECT_NEAR(mean_log_likelihood(forecast, one), std::log(3.989), 0.02);
  const std::vector<Observation> other{{}, {.seconds = 1.0, .fate = Fate::kLonger}};
  EXPECT_NEAR(mean_log_likelihood(forecast, other), std::log(0.5), 0.1);
  EXPECT_EQ(mean_log_likelihood(forecast, std::vector<Observation>{{}, {}}), 0.0);
  // Both twice as slow: one shift of even chances explains both, at the price of one bit.
  const std::vector<Forecast::Shift> shifts{{.bins = 0.0, .chance = 0.5},
                                            {.bins = 100.0 * std::log(2.0), .chance = 0.5}};
  forecast.set_shifts(shifts);
  EXPECT_NEAR(mean_log_likelihood(forecast, arrived({2.0, 2.0})),
              std::log(3.989) - 0.5 * std::log(2.0),
              0.03);
}

// A thousand workers: 18 ms for a forecast are too long in an iteration of 20 ms, and not of 1 s.
TEST(AutoModel, LeavesOutWhoTakesTooLongToForecast) {
  for (const double seconds : {0.02, 1.0}) {
    std::vector<AutoModel::Candidate> candidates;
    candidates.push_back({"slow", std::make_unique<Stubborn>(seconds), 18e-6});
    candidates.push_back({"quick", std::make_unique<Stubborn>(2.0 * seconds), 1e-6});
    AutoModel model(std::move(candidates));
    Forecast forecast;
    for (int t = 0; t < 5; ++t) {
      model.observe(arrived(std::vector<double>(1000, seconds)));
      ASSERT_TRUE(model.forecast(forecast));
    }
    EXPECT_EQ(model.believed(), seconds < 0.1 ? "quick" : "slow");
  }
}

// The first iteration is no measure for ever.
TEST(AutoModel, TakesBackWhatWasLeftOutOnceRuntimesAreLonger) {
  std::vector<AutoModel::Candidate> candidates;
  candidates.push_back({"slow", std::make_unique<Last>(), 18e-6});
  candidates.push_back({"quick", std::make_unique<Stubborn>(9.0), 1e-6});
  AutoModel model(std::move(candidates));
  Forecast forecast;
  const auto live = [&](double seconds) {
    for (int i = 0; i < 60; ++i) {
      model.observe(arrived(std::vector<double>(1000, seconds)));
      (void)model.forecast(forecast);
    }
    return model.believed();
  };
  EXPECT_EQ(live(0.02), "quick");
  EXPECT_EQ(live(1.0), "slow");
  EXPECT_EQ(live(0.02), "quick");
}

}  // namespace
}  // namespace outpace::runtime_model

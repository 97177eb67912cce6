#include "runtime_model/switching.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

// P(worker takes longer than this).
double longer(const Forecast& forecast, std::uint32_t worker, double seconds) {
  return 1.0 - forecast.cdf(worker, forecast.grid().position(seconds));
}

class SwitchingLearnt : public ::testing::Test {
 protected:
  SwitchingLearnt() {
    for (int i = 0; i < 200; ++i) {
      model_.observe(arrived(around({1.0, 4.0}, 0.08, rng_)));
    }
  }
  const Forecast& forecast() {
    EXPECT_TRUE(model_.forecast(forecast_));
    return forecast_;
  }

  Rng rng_{1, 0};
  Switching model_;
  Forecast forecast_;
};

TEST(Switching, KnowsNothingAtFirst) {
  Switching model;
  Forecast forecast;
  EXPECT_FALSE(model.forecast(forecast));
}

TEST_F(SwitchingLearnt, KnowsEachLevelAndHowFarRuntimesAreFromIt) {
  const Forecast& known = forecast();
  EXPECT_NEAR(known.quantile(0, 0.5), 1.0, 0.03);
  EXPECT_NEAR(known.quantile(1, 0.5), 4.0, 0.12);
  EXPECT_NEAR(std::log(known.quantile(0, 0.841345) / known.quantile(0, 0.5)), 0.08, 0.02);
}

TEST_F(SwitchingLearnt, FollowsAJumpAtOnce) {
  model_.observe(arrived({5.0, 4.0}));
  model_.observe(arrived({5.0, 4.0}));
  EXPECT_NEAR(forecast().quantile(0, 0.5), 5.0, 0.3);
  EXPECT_NEAR(forecast().quantile(1, 0.5), 4.0, 0.12);
}

TEST_F(SwitchingLearnt, OneThatWasCutOffIsBelievedToBeSlowEverMore) {
  const double before = longer(forecast(), 0, 1.5);
  model_.observe(std::vector<Observation>{{.seconds = 1.5, .fate = Fate::kLonger},
                                          {.seconds = 4.0, .fate = Fate::kArrived}});
  const double once = longer(forecast(), 0, 1.5);
  model_.observe(std::vector<Observation>{{.seconds = 1.5, .fate = Fate::kLonger},
                                          {.seconds = 4.0, .fate = Fate::kArrived}});
  const double twice = longer(forecast(), 0, 1.5);
  EXPECT_LT(before, 0.05);
  EXPECT_GT(once, 0.5);
  EXPECT_GT(twice, once);
}

TEST_F(SwitchingLearnt, ALateTimeTakesThePlaceOfWhatWasGuessed) {
  model_.observe(std::vector<Observation>{{.seconds = 1.5, .fate = Fate::kLonger},
                                          {.seconds = 4.0, .fate = Fate::kArrived}});
  model_.observe(std::vector<Observation>{{}, {.seconds = 4.0, .fate = Fate::kArrived}});
  EXPECT_GT(longer(forecast(), 0, 2.0), 0.3);
  model_.correct(0, 1.51);  // It was nearly done.
  EXPECT_LT(longer(forecast(), 0, 2.0), 0.1);
}

TEST_F(SwitchingLearnt, ABusyWorkerIsKnownALittleLess) {
  const double before = longer(forecast(), 0, 2.0);
  for (int i = 0; i < 20; ++i) {
    model_.observe(std::vector<Observation>{{}, {.seconds = 4.0, .fate = Fate::kArrived}});
  }
  EXPECT_NEAR(forecast().quantile(0, 0.5), 1.0, 0.1);
  EXPECT_GT(longer(forecast(), 0, 2.0), before);
}

// What no parameter explains must not break it: far off the lattice on both sides.
TEST_F(SwitchingLearnt, SurvivesRuntimesBeyondItsGrid) {
  for (const double seconds : {1e-9, 1e9, 1.0}) {
    model_.observe(arrived({seconds, 4.0}));
    for (const float value : forecast().row(0)) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
}

// All are slow together, which is a shift, and one is not: its runtime less the shift is where
// neither a level nor an outlier is.
TEST(Switching, SurvivesWhatNothingExplains) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed, 0);
    Switching model;
    Forecast forecast;
    for (int i = 0; i < 200; ++i) {
      const bool shifted = i > 20 && rng.below(10) == 0;
      const std::vector<double> levels(10, shifted ? std::exp(4.0 * rng.normal()) : 1.0);
      std::vector<Observation> iteration = arrived(around(levels, 0.05, rng));
      if (rng.below(5) == 0) {
        iteration[rng.below(10)].seconds = std::exp(12.0 * rng.normal());
      }
      model.observe(iteration);
      ASSERT_TRUE(model.forecast(forecast));
      for (std::uint32_t w = 0; w < 10; ++w) {
        for (const float value : forecast.row(w)) {
          ASSERT_TRUE(std::isfinite(value)) << "seed " << seed << ", iteration " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace outpace::runtime_model

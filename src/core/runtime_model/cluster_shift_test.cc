#include "runtime_model/cluster_shift.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

// Eight workers of which one second each is forecast.
class ClusterShiftOfEight : public ::testing::Test {
 protected:
  ClusterShiftOfEight() {
    forecast_.reset(TimeGrid(0.01, 0.0125, 720), 8);
    const std::vector<double> seconds(8, 1.0);
    forecast_.set_lognormal_rows(seconds, 0.05);
  }
  // The shift that is found, as a factor of the runtimes.
  double live(const std::vector<double>& levels) {
    return std::exp(0.0125 * shift_.observe(forecast_, arrived(around(levels, 0.05, rng_))));
  }
  // The chance that all are about this many times as slow.
  double chance(double factor) const {
    double sum = 0.0;
    for (const Forecast::Shift& shift : shift_.forecast()) {
      sum += std::abs(shift.bins * 0.0125 - std::log(factor)) < 0.1 ? shift.chance : 0.0;
    }
    return sum;
  }

  const std::vector<double> alike_ = std::vector<double>(8, 1.0);
  const std::vector<double> slow_ = std::vector<double>(8, 3.0);
  Forecast forecast_;
  Rng rng_{1, 0};
  ClusterShift shift_;
};

TEST_F(ClusterShiftOfEight, IsNoneWhereAllIsAsForecast) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(live(alike_), 1.0);
  }
  ASSERT_EQ(shift_.forecast().size(), 1U);
  EXPECT_EQ(shift_.forecast().front().bins, 0.0);
}

TEST_F(ClusterShiftOfEight, IsFoundWhereAllAreSlow) {
  EXPECT_NEAR(live(slow_), 3.0, 0.2);
}

TEST_F(ClusterShiftOfEight, IsNotWhatTwoMachinesDo) {
  EXPECT_EQ(live({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0}), 1.0);
}

TEST_F(ClusterShiftOfEight, IsFoundFromThoseWhoCameBeforeTheOthersWereCutOff) {
  std::vector<Observation> seen = arrived(std::vector<double>(5, 3.0));
  seen.resize(8, {.seconds = 3.0, .fate = Fate::kLonger});
  EXPECT_NEAR(std::exp(0.0125 * shift_.observe(forecast_, seen)), 3.0, 0.3);
}

TEST_F(ClusterShiftOfEight, ComesAsOftenAsItCame) {
  for (int i = 0; i < 60; ++i) {
    (void)live(i % 4 == 3 ? slow_ : alike_);
  }
  EXPECT_NEAR(chance(3.0), 0.25, 0.1);
  EXPECT_NEAR(chance(1.0), 0.75, 0.1);
}

TEST_F(ClusterShiftOfEight, StaysWhereItStayed) {
  for (int i = 0; i < 80; ++i) {
    (void)live((i / 20) % 2 == 1 ? slow_ : alike_);
  }
  EXPECT_GT(chance(3.0), 0.8);
  (void)live(alike_);
  EXPECT_GT(chance(1.0), 0.8);
}

}  // namespace
}  // namespace outpace::runtime_model

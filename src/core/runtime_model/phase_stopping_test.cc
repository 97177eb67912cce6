#include "runtime_model/phase_stopping.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::runtime_model {
namespace {

// All take exactly what is expected, but for the width of the grid.
Forecast certain(const std::vector<double>& seconds) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.01, 0.005, 2000), static_cast<std::uint32_t>(seconds.size()));
  forecast.set_lognormal_rows(seconds, 1e-4);
  return forecast;
}

TEST(PhaseStopping, GoesOnWhileThoseThatComputeBringMoreThanTheRun) {
  const Forecast forecast = certain({1.0, 1.0, 2.0, 4.0});
  PhaseStopping stopping;
  const std::vector<std::uint32_t> three{1, 2, 3};  // They bring 1.75 a second.
  stopping.begin(forecast, 1.7);
  EXPECT_FALSE(stopping.look(0.9, three).stop);
  stopping.begin(forecast, 1.8);
  EXPECT_TRUE(stopping.look(0.9, three).stop);
}

TEST(PhaseStopping, TellsWhatIsDone) {
  const Forecast forecast = certain({1.0, 1.0, 2.0, 4.0});
  PhaseStopping stopping;
  stopping.begin(forecast, 1.0);
  EXPECT_NEAR(stopping.done(0.9, std::vector<std::uint32_t>{2, 3}), 0.45 + 0.225, 0.01);
}

TEST(PhaseStopping, AsksAgainWhetherAWorkerStillBringsWhatWasExpected) {
  const Forecast forecast = certain({1.0, 1.0});
  PhaseStopping stopping;
  stopping.begin(forecast, 0.4);
  const std::vector<std::uint32_t> one{1};
  double seconds = 1.0;
  while (!stopping.look(seconds, one).stop && seconds < 10.0) {
    const double again = stopping.look(seconds, one).again;
    ASSERT_GT(again, seconds);
    seconds = again;
  }
  EXPECT_GT(seconds, 1.2) << "0.4 a second is little: it is waited for beyond its time";
  EXPECT_LT(seconds, 2.0) << "and not for ever";
}

// The best deadline by trying each: what all have done by then, over the time and the overhead.
double best_rate(const std::vector<double>& seconds, double overhead) {
  double best = 0.0;
  for (const double deadline : seconds) {
    double done = 0.0;
    for (const double one : seconds) {
      done += std::min(1.0, deadline / one);
    }
    best = std::max(best, done / (deadline + overhead));
  }
  return best;
}

// The rate that the rule has where all take what is expected.
double rate_under_rule(const std::vector<double>& seconds, double overhead, double rate) {
  const Forecast forecast = certain(seconds);
  PhaseStopping stopping;
  stopping.begin(forecast, rate);
  std::vector<std::uint32_t> all(seconds.size());
  std::iota(all.begin(), all.end(), 0);
  const PhaseStopping::Plan plan = stopping.plan(all);
  double done = 0.0;
  for (const double one : seconds) {
    done += std::min(1.0, plan.until / one);
  }
  return done / (plan.until + overhead);
}

TEST(PhaseStopping, ARateThatTheRuleItselfMakesIsTheBestOne) {
  Rng rng(7, 0);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> seconds(2 + rng.below(9));
    for (double& one : seconds) {
      one = std::exp(0.5 * rng.normal());
    }
    const double overhead = 0.5 * rng.uniform();
    double rate = 1e-3;  // Waits for all at first.
    for (int i = 0; i < 30; ++i) {
      rate = rate_under_rule(seconds, overhead, rate);
    }
    EXPECT_NEAR(rate / best_rate(seconds, overhead), 1.0, 0.01) << trial;
  }
}

}  // namespace
}  // namespace outpace::runtime_model

#include "runtime_model/stopping.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

Forecast lognormal(const std::vector<double>& seconds, double sigma) {
  Forecast forecast;
  forecast.reset(TimeGrid(0.01, 0.005, 2000), static_cast<std::uint32_t>(seconds.size()));
  forecast.set_lognormal_rows(seconds, sigma);
  return forecast;
}

const std::vector<std::uint32_t> kThree{0, 1, 2};

TEST(Stopping, WaitsForWhoIsAboutToComeAndNotForWhoIsFarOff) {
  const Forecast forecast = lognormal({1.0, 1.0, 8.0}, 0.08);
  Stopping stopping;
  stopping.begin(forecast, kThree, 2.0);  // Two gradients a second are what it is used to.
  EXPECT_FALSE(stopping.look(0.9, 0, kThree).stop);
  EXPECT_FALSE(stopping.look(1.0, 1, std::vector<std::uint32_t>{1, 2}).stop);
  EXPECT_TRUE(stopping.look(1.0, 2, std::vector<std::uint32_t>{2}).stop);
}

// A few workers stand for 2,000. The twin puts everybody into the formula, every millisecond.
TEST(Stopping, PlansForThousandsAsIfItAskedForEach) {
  std::vector<double> seconds;
  std::vector<std::uint32_t> out;
  for (std::uint32_t w = 0; w < 2000; ++w) {
    seconds.push_back(w % 4 == 0 ? 6.0 : 1.0 + 0.0002 * w);
    out.push_back(w);
  }
  const Forecast forecast = lognormal(seconds, 0.1);
  constexpr double kRate = 900.0;
  Stopping stopping;
  stopping.begin(forecast, out, kRate);
  const Stopping::Plan plan = stopping.best_plan(0.0, 0, out, 0.0);
  double best = 0.0;
  double until = 0.0;
  double arrivals = 0.0;
  for (double u = 0.5; u < 4.0; u += 1e-3) {  // Nobody waits for all: a quarter is far off.
    double arriving = 0.0;
    for (const std::uint32_t w : out) {
      arriving += forecast.cdf(w, forecast.grid().position(u));
    }
    if (arriving - kRate * u > best) {
      best = arriving - kRate * u;
      until = u;
      arrivals = arriving;
    }
  }
  EXPECT_NEAR(plan.until, until, 0.01 * until);
  EXPECT_NEAR(plan.arrivals, arrivals, 0.01 * arrivals);
  EXPECT_NEAR(plan.gain, best, 0.02 * best);
}

TEST(Stopping, GivesUpOnWhoShouldHaveComeAndDidNot) {
  // As a rule in one second, with a chance of a tenth in eight.
  Forecast forecast = lognormal({1.0, 8.0}, 0.08);
  for (std::size_t i = 0; i < forecast.row(0).size(); ++i) {
    forecast.row(0)[i] = 0.9F * forecast.row(0)[i] + 0.1F * forecast.row(1)[i];
  }
  Stopping stopping;
  const std::vector<std::uint32_t> first{0};
  stopping.begin(forecast, first, 2.0);
  EXPECT_FALSE(stopping.look(1.0, 0, first).stop);
  EXPECT_TRUE(stopping.look(1.4, 0, first).stop);
}

// A rate of next to nothing makes it worth waiting for the last outlier: not at every hundredth of
// a second, though.
TEST(Stopping, LooksLessOftenTheLongerItWaits) {
  Forecast forecast = lognormal({1.0}, 3.0);
  Stopping stopping;
  const std::vector<std::uint32_t> first{0};
  stopping.begin(forecast, first, 1e-6);
  double now = 1.0;
  int looks = 0;
  while (now < 150.0) {
    const Stopping::Outlook outlook = stopping.look(now, 0, first);
    ASSERT_FALSE(outlook.stop) << now;
    now = outlook.again;
    ++looks;
  }
  EXPECT_LT(looks, 600);
}

TEST(Stopping, WaitsForAllThatCostLessThanTheRate) {
  const Forecast forecast = lognormal({1.0, 1.0, 8.0}, 0.08);
  Stopping stopping;
  stopping.begin(forecast, kThree, 0.1);  // Ten seconds a gradient.
  EXPECT_FALSE(stopping.look(1.5, 2, std::vector<std::uint32_t>{2}).stop);
}

// All are slow together, three times, in half of the iterations: who is out when the first has come
// at three seconds will be there soon; to each by itself it could be a chance of one in two.
TEST(Stopping, TheFirstToComeTellsOfTheOthers) {
  Forecast forecast = lognormal({1.0, 1.0, 1.0}, 0.05);
  Stopping stopping;
  const std::vector<std::uint32_t> two{1, 2};
  constexpr double kRate = 1.8;
  // At 3.1 seconds, when one has come at three: the others are due.
  const std::vector<Forecast::Shift> shifts{{.bins = 0.0, .chance = 0.5},
                                            {.bins = std::log(3.0) / 0.005, .chance = 0.5}};
  forecast.set_shifts(shifts);
  stopping.begin(forecast, kThree, kRate);
  EXPECT_FALSE(stopping.look(1.5, 0, kThree).stop);  // Nobody has come: it is a slow one.
  EXPECT_FALSE(stopping.look(3.0, 1, two).stop);
  EXPECT_FALSE(stopping.look(3.1, 1, two).stop);
  EXPECT_TRUE(stopping.look(4.0, 1, two).stop);
  // Without the shift nobody who is out after 1.5 seconds is ever worth waiting for.
  const std::vector<Forecast::Shift> none{{}};
  forecast.set_shifts(none);
  stopping.begin(forecast, kThree, kRate);
  EXPECT_TRUE(stopping.look(1.5, 1, two).stop);
}

// The plan's gain by summing over the distribution of the one runtime, in small steps.
TEST(Stopping, ThePlanOfOneWorkerIsTheBestOfAllDeadlines) {
  const Forecast forecast = lognormal({2.0}, 0.3);
  Stopping stopping;
  const std::vector<std::uint32_t> first{0};
  constexpr double kRate = 0.7;
  constexpr double kNow = 1.2;
  stopping.begin(forecast, first, kRate);
  const TimeGrid& grid = forecast.grid();
  const double by_now = forecast.cdf(0, grid.position(kNow));
  double best = -1e300;
  double waited = 0.0;
  for (double u = kNow; u < 6.0;) {
    const double left = (1.0 - forecast.cdf(0, grid.position(u))) / (1.0 - by_now);
    best = std::max(best, 1.0 - left - kRate * waited);
    constexpr double kSmall = 1e-4;
    waited += left * kSmall;  // E[min(u, x) - now] is the integral of the survival.
    u += kSmall;
  }
  EXPECT_NEAR(stopping.best_plan(kNow, 0, first, 0.0).gain, best, 2e-3);
}

// The progress of c gradients is c / (1 + c). A worker that surely comes after 2 s of waiting is
// worth 1 / ((1 + c) (2 + c)).
TEST(Stopping, GradientsThatAddEverLessAreWorthWaitingForEverLess) {
  const Forecast forecast = lognormal({2.0}, 0.02);
  const std::vector<std::uint32_t> last{0};
  const Worth worth{.saturation = 1.0};
  Stopping stopping;
  const auto stops = [&](double rate, std::uint32_t arrived) {
    stopping.begin(forecast, last, rate, worth);
    return stopping.look(1.0, arrived, last).stop;
  };
  // One second more for 1 / 6, 1 / 12 and 1 / 30.
  EXPECT_FALSE(stops(0.15, 1));
  EXPECT_TRUE(stops(0.18, 1));
  EXPECT_FALSE(stops(0.075, 2));
  EXPECT_TRUE(stops(0.09, 2));
  EXPECT_FALSE(stops(0.03, 4));
  EXPECT_TRUE(stops(0.036, 4));
}

}  // namespace
}  // namespace outpace::runtime_model

#include "runtime_model/moving_grid.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime_model/model_list.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(RecentMedian, OneIterationUnlikeTheOthersDoesNotChangeIt) {
  RecentMedian recent(3);
  EXPECT_EQ(recent.take(arrived({1.0, 2.0, 9.0})), 2.0);
  EXPECT_EQ(recent.take(arrived({100.0, 200.0, 900.0})), 200.0);
  EXPECT_EQ(recent.take(arrived({1.0, 3.0, 9.0})), 3.0);
  EXPECT_EQ(recent.take(arrived({1.0, 4.0, 9.0})), 4.0);  // The median of 200, 3 and 4.
  EXPECT_EQ(recent.take(arrived({1.0, 5.0, 9.0})), 4.0);
}

TEST(MovingGrid, StaysWhileTheMedianIsInItsMiddle) {
  MovingGrid grid;
  EXPECT_EQ(grid.follow(arrived({1.0})), 0);
  const TimeGrid first = grid.now();
  EXPECT_NEAR(first.edge(0.0), 1.0 / 30.0, 1e-9);
  for (const double seconds : {0.11, 0.11, 0.11, 0.11, 0.11, 25.0, 25.0, 25.0, 25.0, 25.0}) {
    EXPECT_EQ(grid.follow(arrived({seconds})), 0);
  }
  EXPECT_EQ(grid.now(), first);
}

// After three of five iterations; what was in a bin is as many places further down.
TEST(MovingGrid, FollowsRuntimesThatBecomeThreeHundredTimesShorterOrLonger) {
  for (const double factor : {1.0 / 300.0, 1.0 / 20.0, 100.0, 1000.0}) {
    MovingGrid grid;
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(grid.follow(arrived({1.0})), 0);
    }
    const TimeGrid first = grid.now();
    EXPECT_EQ(grid.follow(arrived({factor})), 0);
    EXPECT_EQ(grid.follow(arrived({factor})), 0);
    const int moved = grid.follow(arrived({factor}));
    EXPECT_EQ(moved % MovingGrid::kUnit, 0);
    EXPECT_NEAR(moved * first.step(), std::log(factor), 2 * first.step());
    EXPECT_NEAR(grid.now().edge(7.0), first.edge(7.0 + moved), 1e-9 * first.edge(7.0 + moved));
    EXPECT_EQ(grid.now().bins(), first.bins());
    EXPECT_EQ(grid.follow(arrived({factor})), 0);
  }
}

// Runtimes become three hundred times shorter, beyond the first grid; then longer than they were.
TEST(MovingGrid, EveryModelForecastsWhereTheRuntimesAre) {
  for (const std::string name : {"switching", "ewma", "last", "kalman", "elfving", "auto"}) {
    const auto model = make_model(name, 4);
    Rng rng(1, 0);
    Forecast forecast;
    for (const double level : {1.0, 1.0 / 300.0, 1000.0}) {
      for (int i = 0; i < 60; ++i) {
        (void)model->forecast(forecast);
        model->observe(arrived(around(std::vector<double>(4, level), 0.02, rng)));
      }
      ASSERT_TRUE(model->forecast(forecast));
      EXPECT_TRUE(forecast.grid().holds(level)) << name << " at " << level;
      if (name != "kalman") {  // A linear model needs longer for such a jump.
        EXPECT_NEAR(forecast.quantile(2, 0.5) / level, 1.0, 0.2) << name << " at " << level;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::runtime_model

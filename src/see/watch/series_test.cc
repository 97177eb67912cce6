#include "watch/series.h"

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

TEST(Series, StaysWithinItsBoundAndCoversTheWholeRun) {
  Series<double> series(8, 1.0);
  for (int i = 0; i <= 1000; ++i) {
    const double now = 0.1 * i;
    if (series.due(now)) {
      series.add(now, now);
    }
  }
  ASSERT_GE(series.points().size(), 4U);
  ASSERT_LE(series.points().size(), 8U);
  EXPECT_GT(series.thinned(), 2U);
  EXPECT_LT(series.points().front(), 25.0);
  EXPECT_GT(series.points().back(), 75.0);
}

TEST(Series, WithoutAPeriodTakesEveryPoint) {
  Series<int> series(4, 0.0);
  EXPECT_TRUE(series.due(0.0));
  series.add(1.0, 1);
  EXPECT_TRUE(series.due(1.0));
}

}  // namespace
}  // namespace outpace::watch

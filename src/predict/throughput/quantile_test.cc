#include "throughput/quantile.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

TEST(Quantile, LiesOnLinesBetweenOrderStatistics) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2.0);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), 9.0);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 0.9), 1.9);
  EXPECT_EQ(quantile({7}, 0.9), 7.0);
  EXPECT_EQ(quantile({1, 2, 3}, 0.0), 1.0);
  EXPECT_EQ(quantile({1, 2, 3}, 1.0), 3.0);
}

}  // namespace
}  // namespace outpace::throughput

#include "throughput/saturation.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

TEST(Saturation, IsWhereNearlyAllIsReached) {
  EXPECT_EQ(saturated_at({{1, 10}, {2, 20}, {3, 29}, {4, 30}, {5, 30}}), 2U);
  EXPECT_EQ(saturated_at({{1, 10}, {2, 20}, {3, 15}, {4, 12}}), 1U);  // More may even be slower.
  EXPECT_EQ(saturated_at({{1, 10}, {2, 10}}), 0U);
}

TEST(Saturation, IsNotWhereWorkersStillAddWhatTheyOught) {
  EXPECT_EQ(saturated_at({{1, 10}, {2, 20}, {3, 30}}), std::nullopt);
  EXPECT_EQ(saturated_at({{31, 310}, {32, 320}}), std::nullopt);  // 95 %, but of 95 % as many.
  EXPECT_EQ(saturated_at({{1, 10}}), std::nullopt);
  EXPECT_EQ(saturated_at({}), std::nullopt);
}

}  // namespace
}  // namespace outpace::throughput

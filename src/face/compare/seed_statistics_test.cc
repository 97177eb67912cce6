#include "compare/seed_statistics.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::compare {
namespace {

TEST(MeanOf, ThreeValuesWorkedByHand) {
  // s = 2, and t(2) 2 / sqrt(3) = 4.968.
  const auto found = mean_of(std::vector{10.0, 12.0, 14.0});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->n, 3);
  EXPECT_DOUBLE_EQ(found->mean, 12.0);
  ASSERT_TRUE(found->half_width);
  EXPECT_NEAR(*found->half_width, 4.968, 1e-3);
}

TEST(MeanOf, ASingleValueHasNoInterval) {
  EXPECT_EQ(mean_of(std::vector{7.0}), (Mean{.n = 1, .mean = 7.0, .half_width = {}}));
  EXPECT_EQ(mean_of({}), std::nullopt);
}

TEST(MeanOf, EqualValuesHaveAnIntervalOfWidthNothing) {
  EXPECT_EQ(mean_of(std::vector{3.0, 3.0, 3.0}), (Mean{.n = 3, .mean = 3.0, .half_width = 0.0}));
}

TEST(JainIndex, IsOneIfAllAreEqualAndOneOfNIfOneHasEverything) {
  EXPECT_EQ(jain_index(std::vector{5.0, 5.0, 5.0, 5.0}), 1.0);
  EXPECT_EQ(jain_index(std::vector{0.0, 9.0, 0.0, 0.0}), 0.25);
  EXPECT_EQ(jain_index(std::vector{1.0, 3.0}), 0.8);
  EXPECT_EQ(jain_index(std::vector{0.0, 0.0}), std::nullopt);
  EXPECT_EQ(jain_index({}), std::nullopt);
}

}  // namespace
}  // namespace outpace::compare

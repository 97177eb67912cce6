#include "base/median.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace outpace {
namespace {

TEST(Median, IsTheMiddleOfAnOddCount) {
  std::vector<double> values{9.0, 1.0, 5.0};
  EXPECT_EQ(upper_median(values), 5.0);
  EXPECT_EQ(lower_median(values), 5.0);
  std::array<int, 1> one{7};
  EXPECT_EQ(upper_median(one), 7);
  EXPECT_EQ(lower_median(one), 7);
}

TEST(Median, OfAnEvenCountIsOneOfTheTwoInTheMiddle) {
  std::vector<int> values{4, 1, 3, 2};
  EXPECT_EQ(upper_median(values), 3);
  EXPECT_EQ(lower_median(values), 2);
}

}  // namespace
}  // namespace outpace

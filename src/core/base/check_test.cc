#include "base/check.h"

#include <gtest/gtest.h>

namespace outpace {
namespace {

TEST(Check, LetsATrueConditionPassAndAsksItOnce) {
  int asked = 0;
  CHECK(++asked == 1);
  EXPECT_EQ(asked, 1);
}

TEST(CheckDeathTest, NamesThePlaceAndTheCondition) {
  const int workers = 0;
  EXPECT_DEATH(CHECK(workers >= 1), "check_test.cc:[0-9]+: CHECK\\(workers >= 1\\) failed");
}

}  // namespace
}  // namespace outpace

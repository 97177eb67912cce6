#include "fit/cut_rows.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::fit {
namespace {

using runtime_model::Fate;

const std::vector<double> kRow{4.0, 1.0, 2.0, 1.1};

TEST(CutRows, WhoIsNotAmongTheFirstTakesLongerThanTheLastOfThem) {
  const auto seen = cut_off(kRow, 3);
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0].fate, Fate::kLonger);
  EXPECT_EQ(seen[0].seconds, 2.0);
  EXPECT_EQ(seen[2].fate, Fate::kArrived);
  EXPECT_EQ(seen[2].seconds, 2.0);
}

TEST(CutRows, CountByADeadlineOrForTheMostGradientsASecond) {
  // The fastest quarter ends at 1.1.
  EXPECT_EQ(count_by(kRow, std::log(1.5)), 2U);
  EXPECT_EQ(count_by(kRow, std::log(3.0)), 3U);
  EXPECT_EQ(best_count(kRow), 2U);  // 2 / 1.1, and not 3 / 2.
}

}  // namespace
}  // namespace outpace::fit

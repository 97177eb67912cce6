#include "runtime_model/block_bootstrap.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::runtime_model {
namespace {

TEST(BlockBootstrap, ARuleBesideItselfIsSurelyAsGood) {
  const std::vector<TrialRow> rows{{1.0, 4}, {2.0, 3}, {1.5, 4}};
  const Interval found = ratio_interval(rows, rows);
  EXPECT_DOUBLE_EQ(found.low, 1.0);
  EXPECT_DOUBLE_EQ(found.high, 1.0);
}

TEST(BlockBootstrap, OfIndependentIterationsIsAsWideAsTheNormalTheorySays) {
  Rng rng(1, 0);
  std::vector<TrialRow> rows;
  std::vector<TrialRow> base;
  constexpr int kRows = 4000;
  for (int i = 0; i < kRows; ++i) {
    rows.push_back({1.0 + 0.1 * rng.normal(), 4});
    base.push_back({2.0, 4});
  }
  // The ratio is 2 / mean seconds, whose standard error is 0.1 / sqrt(kRows) of it.
  const double half = 1.96 * 2.0 * 0.1 / std::sqrt(kRows);
  const Interval found = ratio_interval(rows, base);
  EXPECT_NEAR(0.5 * (found.high - found.low), half, 0.2 * half);
  EXPECT_NEAR(0.5 * (found.high + found.low), 2.0, 2.0 * half);
}

TEST(BlockBootstrap, OfIterationsThatHangTogetherIsWider) {
  std::vector<TrialRow> runs;
  std::vector<TrialRow> mixed;
  std::vector<TrialRow> base;
  for (int i = 0; i < 1000; ++i) {
    runs.push_back({i / 50 % 2 == 0 ? 1.0 : 3.0, 4});
    mixed.push_back({i % 2 == 0 ? 1.0 : 3.0, 4});
    base.push_back({2.0, 4});
  }
  const auto width = [&](const std::vector<TrialRow>& rows) {
    const Interval found = ratio_interval(rows, base);
    return found.high - found.low;
  };
  EXPECT_GT(width(runs), 3.0 * width(mixed));
}

}  // namespace
}  // namespace outpace::runtime_model

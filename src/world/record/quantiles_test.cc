#include "record/quantiles.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::record {
namespace {

TEST(Quantile, IsAValueThatOccurred) {
  EXPECT_EQ(quantile(std::vector<float>{5, 1, 4, 2, 3}, 0.5), 3.0);
  EXPECT_EQ(quantile(std::vector<float>{4, 1, 3, 2}, 0.5), 2.0);  // The lower one.
  EXPECT_EQ(quantile(std::vector<float>{7}, 0.99), 7.0);
  EXPECT_EQ(quantile(std::vector<float>{2, 1}, 1.0), 2.0);
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
}

TEST(Quantile, HasTheNinetyNinthOfAHundredAsItsP99) {
  std::vector<float> values;
  for (int i = 100; i >= 1; --i) {
    values.push_back(static_cast<float>(i));
  }
  EXPECT_EQ(quantile(values, 0.99), 99.0);
  EXPECT_EQ(quantile(values, 0.07), 7.0);  // 0.07 x 100 is more than 7 in floating point.
}

TEST(QuantileOfCounts, AgreesWithTheValuesWrittenOut) {
  const std::vector<std::uint64_t> counts{3, 0, 4, 1};  // 0 0 0 2 2 2 2 3
  EXPECT_EQ(quantile_of_counts(counts, 0.375), 0U);
  EXPECT_EQ(quantile_of_counts(counts, 0.5), 2U);
  EXPECT_EQ(quantile_of_counts(counts, 0.99), 3U);
  EXPECT_EQ(quantile_of_counts(counts, 1.0), 3U);
  EXPECT_EQ(quantile_of_counts({}, 0.5), std::nullopt);
  EXPECT_EQ(quantile_of_counts(std::vector<std::uint64_t>{0, 0}, 1.0), std::nullopt);
}

TEST(MeanOfCounts, WeighsEveryValueByHowOftenItOccurred) {
  EXPECT_EQ(mean_of_counts(std::vector<std::uint64_t>{3, 0, 4, 1}), 11.0 / 8.0);
  EXPECT_EQ(mean_of_counts({}), std::nullopt);
}

}  // namespace
}  // namespace outpace::record

#include "policy/balanced_rows.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

constexpr std::uint32_t kNominalOfRows = 100;

Paces rows_of(std::uint32_t count, const std::vector<float>& row) {
  Paces rows{.workers = static_cast<std::uint32_t>(row.size()), .seconds = {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    rows.seconds.insert(rows.seconds.end(), row.begin(), row.end());
  }
  return rows;
}

TEST(BalancedRows, TakeTheSameTimeWhereSpeedsStayAsTheyAre) {
  BalancedRows balanced;
  const Paces& found = balanced.of(rows_of(8, {1.0F, 1.0F, 2.0F}), kNominalOfRows, {});
  ASSERT_EQ(found.rows(), 8 - Balance::kAnswers);
  for (std::uint32_t i = 0; i < found.rows(); ++i) {
    for (std::uint32_t worker = 0; worker < found.workers; ++worker) {
      EXPECT_NEAR(found.row(i)[worker], 1.2F, 1e-5F);  // 3 mini-batches at 2.5 a second.
    }
    EXPECT_NEAR(found.size(i * 3), 1.2F, 1e-5F);
    EXPECT_NEAR(found.size(i * 3 + 2), 0.6F, 1e-5F);
  }
}

TEST(BalancedRows, HaveTheSizesOfTheRowsBefore) {
  Paces rows = rows_of(8, {1.0F, 1.0F});
  rows.seconds[0] = 10.0F;  // The newest.
  BalancedRows balanced;
  const Paces& found = balanced.of(rows, kNominalOfRows, {});
  EXPECT_EQ(found.size(0), 1.0F);
  EXPECT_EQ(found.row(0)[0], 10.0F);
}

TEST(BalancedRows, AreAtMostSoLarge) {
  BalancedRows balanced;
  const Paces& found =
      balanced.of(rows_of(8, {1.0F, 100.0F, 100.0F}), kNominalOfRows, {.most = 2.0});
  EXPECT_EQ(found.size(0), 2.0F);
  EXPECT_EQ(found.row(0)[0], 2.0F);
}

}  // namespace
}  // namespace outpace::policy

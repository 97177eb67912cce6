#include "policy/pace_rows.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

constexpr WorkerId kFast{0};
constexpr WorkerId kSlow{1};

PaceRows two_workers() {
  PaceRows rows;
  rows.join(kFast);
  rows.join(kSlow);
  return rows;
}

void add_row(PaceRows& rows, double fast, double slow) {
  rows.took(kFast, fast);
  rows.took(kSlow, slow);
  EXPECT_TRUE(rows.complete());
  rows.close();
}

// As seconds by row, the newest first, and in it by worker.
std::vector<float> seconds_of(PaceRows& rows) {
  Paces paces;
  EXPECT_TRUE(rows.paces(1, paces));
  return paces.seconds;
}

TEST(PaceRows, HoldTheRuntimesOfEachRow) {
  PaceRows rows = two_workers();
  add_row(rows, 1.0, 2.0);
  add_row(rows, 3.0, 4.0);
  Paces paces;
  ASSERT_TRUE(rows.paces(2, paces));
  EXPECT_EQ(paces.rows(), 2U);
  EXPECT_EQ(paces.seconds, (std::vector{3.0F, 4.0F, 1.0F, 2.0F}));  // The newest first.
  EXPECT_FALSE(rows.paces(3, paces));
}

TEST(PaceRows, CountAWorkerOnceInARow) {
  PaceRows rows = two_workers();
  rows.took(kFast, 1.0);
  rows.took(kFast, 5.0);
  EXPECT_FALSE(rows.complete());
  rows.took(kSlow, 2.0);
  EXPECT_TRUE(rows.complete());
  rows.close();
  EXPECT_EQ(seconds_of(rows), (std::vector{1.0F, 2.0F}));
}

TEST(PaceRows, TakeWhoIsCutOffForAsSlowAsItWasWhenItWasLonger) {
  PaceRows rows = two_workers();
  add_row(rows, 1.0, 2.0);
  add_row(rows, 1.0, 6.0);
  add_row(rows, 1.0, 8.0);
  rows.took(kFast, 1.0);
  rows.takes_longer(kSlow, 3.0);
  rows.close();
  EXPECT_EQ(seconds_of(rows)[1], 7.0F);
}

TEST(PaceRows, TakeWhoWasNeverSeenForHalfAsLongAgain) {
  PaceRows rows = two_workers();
  rows.took(kFast, 1.0);
  rows.takes_longer(kSlow, 2.0);
  rows.close();
  EXPECT_EQ(seconds_of(rows), (std::vector{1.0F, 3.0F}));
  rows.took_after_all(kSlow, 9.0);
  EXPECT_EQ(seconds_of(rows), (std::vector{1.0F, 9.0F}));
}

TEST(PaceRows, FillARowInWhichAWorkerIsMissingWithItsMean) {
  PaceRows rows = two_workers();
  add_row(rows, 1.0, 2.0);
  add_row(rows, 1.0, 4.0);
  rows.took(kFast, 1.0);
  rows.close();
  EXPECT_EQ(seconds_of(rows)[1], 3.0F);
}

TEST(PaceRows, SayNothingBeforeEachWorkerIsKnown) {
  PaceRows rows = two_workers();
  rows.took(kFast, 1.0);
  rows.close();
  Paces paces;
  EXPECT_FALSE(rows.paces(1, paces));
}

TEST(PaceRows, ForgetWhoLeaves) {
  PaceRows rows = two_workers();
  rows.took(kFast, 1.0);
  rows.leave(kSlow);
  EXPECT_TRUE(rows.complete());
  rows.leave(kFast);
  EXPECT_FALSE(rows.complete());
  rows.join(kSlow);
  rows.took(kSlow, 2.0);
  rows.close();
  EXPECT_EQ(seconds_of(rows), std::vector{2.0F});
}

TEST(PaceRows, ForgetTheOldest) {
  PaceRows rows = two_workers();
  add_row(rows, 100.0, 100.0);
  for (std::uint32_t i = 0; i < PaceRows::kRows; ++i) {
    add_row(rows, 1.0, 2.0);
  }
  Paces paces;
  ASSERT_TRUE(rows.paces(1, paces));
  EXPECT_EQ(paces.rows(), PaceRows::kRows - 1);
  for (std::uint32_t i = 0; i < paces.rows(); ++i) {
    EXPECT_EQ(paces.row(i)[0], 1.0F);
  }
}

}  // namespace
}  // namespace outpace::policy

#include "live/restarts.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

using std::chrono::milliseconds;

constexpr int kKilled = 128 + 9;

TEST(Restarts, TheDelayDoublesUpToAMinute) {
  Restarts restarts(kRestartsWithoutEnd);
  std::vector<std::int64_t> delays;
  for (int crash = 0; crash < 9; ++crash) {
    delays.push_back(restarts.ended(kKilled, false).value_or(milliseconds(-1)).count());
  }
  EXPECT_EQ(delays,
            (std::vector<std::int64_t>{500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000}));
}

TEST(Restarts, OneThatWorksBetweenItsCrashesIsStartedAgainForEver) {
  Restarts restarts(3);
  for (int crash = 0; crash < 1000; ++crash) {
    EXPECT_EQ(restarts.ended(1, true), milliseconds(500));
    EXPECT_EQ(restarts.crashes(), 1U);
  }
}

TEST(Restarts, ARowOfCrashesEndsAtTheMost) {
  Restarts restarts(2);
  EXPECT_TRUE(restarts.ended(1, false));
  EXPECT_TRUE(restarts.ended(1, false));
  EXPECT_FALSE(restarts.ended(1, false));
  EXPECT_FALSE(Restarts(0).ended(kKilled, true));
}

TEST(Restarts, ARefusalIsFinalUnlessTheChildHasWorkedBefore) {
  constexpr int kUsage = 2;
  Restarts fresh(kRestartsWithoutEnd);
  EXPECT_FALSE(fresh.ended(kUsage, false));
  Restarts proven(kRestartsWithoutEnd);
  EXPECT_TRUE(proven.ended(kKilled, true));
  EXPECT_TRUE(proven.ended(kUsage, false));  // The file that it reads is away for a while.
  EXPECT_EQ(proven.crashes(), 2U);
}

TEST(Restarts, AnEndInOrderIsFinal) {
  EXPECT_FALSE(Restarts(kRestartsWithoutEnd).ended(0, true));
}

}  // namespace
}  // namespace outpace::live

#include "policy/sync.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

TEST(Sync, CommitsWhenTheLastArrivesAndReleasesEverybody) {
  CheckedDriver driver("sync", 3);
  driver.join_all(3);
  driver.arrive(2);
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 0U);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.count<Release>(), 3);
  EXPECT_EQ(driver.count<Cancel>(), 0);
}

TEST(Sync, CountsAJoinerInMidRound) {
  CheckedDriver driver("sync", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.join(2);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 0U);
  driver.arrive(2);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.last().reason.a, 3);
}

TEST(Sync, CommitsWhenTheOneAwaitedLeaves) {
  for (const Departure how :
       {Departure::kLeft, Departure::kDead, Departure::kDrained, Departure::kStalled}) {
    CheckedDriver driver("sync", 3);
    driver.join_all(3);
    driver.arrive(0);
    driver.arrive(1);
    driver.leave(2, how);
    EXPECT_EQ(driver.version(), 1U);
    EXPECT_EQ(driver.count<Release>(), 2);
  }
}

TEST(Sync, KeepsTheGradientOfOneThatLeftSinceAndStillWaitsForTheOthers) {
  CheckedDriver driver("sync", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.arrive(1);
  driver.leave(0, Departure::kDrained);
  EXPECT_EQ(driver.version(), 0U);
  driver.arrive(2);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.last().reason.a, 3);
}

TEST(Sync, CommitsWhatItHasWhenTheLastWorkerLeaves) {
  CheckedDriver driver("sync", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.leave(0);
  driver.leave(1);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.join(1).reason.why, Why::kJoined);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 2U);
}

TEST(Sync, TheRefusedSitsOutTheRound) {
  CheckedDriver driver("sync", 2);
  driver.join_all(2);
  driver.end(0, Ending::kRefused);
  EXPECT_FALSE(driver.computes(0));
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_TRUE(driver.computes(0));
}

TEST(Sync, StartsTheRoundAgainWhenEverybodyWasRefused) {
  CheckedDriver driver("sync", 2);
  driver.join_all(2);
  driver.end(0, Ending::kRefused);
  driver.end(1, Ending::kRefused);
  EXPECT_EQ(driver.count<Commit>(), 0);
  EXPECT_EQ(driver.count<Release>(), 2);
}

TEST(Sync, ARefusalCommitsIfItWasTheLastAnswer) {
  CheckedDriver driver("sync", 2);
  driver.join_all(2);
  driver.arrive(1);
  driver.end(0, Ending::kRefused);
  EXPECT_EQ(driver.version(), 1U);
}

}  // namespace
}  // namespace outpace::policy

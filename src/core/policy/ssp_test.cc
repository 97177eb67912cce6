#include "policy/ssp.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

TEST(Ssp, HoldsWhoIsMoreThanTheSlackAhead) {
  CheckedDriver driver("ssp:s=2", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.arrive(0);
  EXPECT_TRUE(driver.computes(0));  // Clock 2 against 0.
  driver.arrive(0);
  EXPECT_FALSE(driver.computes(0));
  EXPECT_EQ(driver.version(), 3U);  // What it had done counts all the same.
}

TEST(Ssp, WithoutSlackRunsInStep) {
  CheckedDriver driver("ssp:s=0", 3);
  driver.join_all(3);
  driver.arrive(2);
  driver.arrive(1);
  EXPECT_FALSE(driver.computes(1) || driver.computes(2));
  driver.arrive(0);
  EXPECT_EQ(driver.count<Release>(), 3);
  EXPECT_EQ(driver.last().reason.why, Why::kCaughtUp);
  EXPECT_EQ(driver.last().reason.b, 2);
}

TEST(Ssp, LetsTheHeldGoWhenTheSlowestLeaves) {
  CheckedDriver driver("ssp:s=0", 3);
  driver.join_all(3);
  driver.arrive(1);
  driver.arrive(2);
  driver.leave(0, Departure::kDead);
  EXPECT_TRUE(driver.computes(1) && driver.computes(2));
}

TEST(Ssp, ARefusedOrAbandonedIterationIsFinishedToo) {
  for (const Ending how : {Ending::kRefused, Ending::kAbandoned}) {
    CheckedDriver driver("ssp:s=0", 2);
    driver.join_all(2);
    driver.arrive(1);
    driver.end(0, how);
    EXPECT_TRUE(driver.computes(0) && driver.computes(1));
  }
}

TEST(Ssp, StartsAJoinerAtTheLeastClock) {
  CheckedDriver driver("ssp:s=1", 3);
  driver.join_all(2);
  for (int i = 0; i < 10; ++i) {
    driver.arrive(0);
    driver.arrive(1);
  }
  driver.join(2);
  driver.arrive(0);  // Clock 11 against the joiner's 10.
  EXPECT_TRUE(driver.computes(0));
  driver.arrive(0);
  EXPECT_FALSE(driver.computes(0));
}

TEST(Ssp, BeginsAgainAfterEverybodyLeft) {
  CheckedDriver driver("ssp:s=0", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.leave(0);
  driver.arrive(1);
  driver.leave(1);
  driver.join_all(2);
  driver.arrive(1);
  EXPECT_FALSE(driver.computes(1));
  driver.arrive(0);
  EXPECT_TRUE(driver.computes(0) && driver.computes(1));
}

TEST(Ssp, WeighsALonePartByWhatIsInIt) {
  CheckedDriver driver("ssp:s=0", 1);
  driver.join_all(1);
  driver.arrive(0, {.examples = 8}, Time{});
  EXPECT_EQ(driver.first<Accept>().weight, 0.25);
}

}  // namespace
}  // namespace outpace::policy

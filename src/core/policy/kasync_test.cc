#include "policy/kasync.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

TEST(KAsync, TakesAGradientFromEachOfKWorkersAndCancelsNobody) {
  CheckedDriver driver("kasync:k=2", 3);
  driver.join_all(3);
  driver.arrive(0);
  EXPECT_FALSE(driver.computes(0)) << "it waits for the update that it is in";
  driver.arrive(2);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.count<Cancel>(), 0);
  EXPECT_EQ(driver.worker(0).version, 1U);
  EXPECT_EQ(driver.worker(1).version, 0U) << "it goes on with what it has";
}

TEST(KAsync, TakesUpWhateverIsLate) {
  CheckedDriver driver("kasync:k=1", 2);
  driver.join_all(2);
  for (int i = 0; i < 100; ++i) {
    driver.arrive(0);
  }
  driver.arrive(1);
  EXPECT_EQ(driver.count<Accept>(), 1);
  EXPECT_EQ(driver.version(), 101U);
}

TEST(KAsync, WaitsForNoMoreThanCanCome) {
  CheckedDriver driver("kasync:k=3", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.arrive(1);
  driver.leave(2, Departure::kDead);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.count<Release>(), 2);
}

TEST(KAsync, StartsAgainWhoWasRefused) {
  CheckedDriver driver("kasync:k=2", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.end(1, Ending::kRefused);
  EXPECT_EQ(driver.version(), 0U);
  EXPECT_TRUE(driver.computes(1));
}

TEST(KAsync, WeighsAPartByItsExamplesOnlyWhenItIsAlone) {
  CheckedDriver alone("kasync:k=1", 2);
  alone.join_all(2);
  alone.arrive(0, {.examples = 8}, Time{});
  EXPECT_EQ(alone.first<Accept>().weight, 0.25);

  CheckedDriver set("kasync:k=2", 2);
  set.join_all(2);
  set.arrive(0, {.examples = 8}, Time{});
  EXPECT_EQ(set.first<Accept>().weight, 1.0);
}

}  // namespace
}  // namespace outpace::policy

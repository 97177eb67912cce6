#include "policy/first_come.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

TEST(Softsync, TakesFloorOfLiveOverSplitsGradientsFromAnybody) {
  CheckedDriver driver("softsync:n=2", 7);
  driver.join_all(7);
  driver.arrive(0);
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 0U);
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 1U);
}

TEST(Softsync, ReleasesTheLearnerThatCompletesAnUpdateOnTheNewWeights) {
  CheckedDriver driver("softsync:n=1", 2);
  driver.join_all(2);
  driver.arrive(0);
  EXPECT_EQ(driver.worker(0).version, 0U);
  driver.arrive(1);
  EXPECT_EQ(driver.worker(1).version, 1U);
}

TEST(Softsync, WeighsAPartByItsExamplesOnlyWhenItIsAlone) {
  CheckedDriver set("softsync:n=1", 2);
  set.join_all(2);
  set.arrive(0, {.examples = 8}, Time{});
  EXPECT_EQ(set.first<Accept>().weight, 1.0);

  CheckedDriver alone("softsync:n=2", 2);
  alone.join_all(2);
  alone.arrive(0, {.examples = 8}, Time{});
  EXPECT_EQ(alone.first<Accept>().weight, 0.25);
}

TEST(Softsync, ADepartureMayCommit) {
  CheckedDriver driver("softsync:n=1", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.arrive(0);
  driver.leave(2, Departure::kDead);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.last().reason.why, Why::kCutoffReached);
}

TEST(Softsync, AJoinerRaisesTheCutoff) {
  CheckedDriver driver("softsync:n=1", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.join(2);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 0U);
  driver.arrive(2);
  EXPECT_EQ(driver.version(), 1U);
}

TEST(Softsync, CommitsWhatItHasWhenTheLastLearnerLeaves) {
  CheckedDriver driver("softsync:n=1", 2);
  driver.join_all(2);
  driver.leave(1);
  driver.join(1);
  driver.arrive(0);
  driver.leave(0);
  EXPECT_EQ(driver.version(), 1U);
  driver.leave(1);
  EXPECT_EQ(driver.count<Commit>(), 0);
}

}  // namespace
}  // namespace outpace::policy

#include "policy/async.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

TEST(Async, MakesEveryGradientAnUpdateAndReleasesItsWorkerAfterIt) {
  CheckedDriver driver("async", 2);
  driver.join_all(2);
  driver.arrive(0);
  ASSERT_EQ(driver.last().actions.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<Accept>(driver.last().actions[0]));
  EXPECT_TRUE(std::holds_alternative<Commit>(driver.last().actions[1]));
  EXPECT_TRUE(std::holds_alternative<Release>(driver.last().actions[2]));
  EXPECT_EQ(driver.worker(0).version, 1U);
}

TEST(Async, AcceptsHoweverStale) {
  CheckedDriver driver("async", 2);
  driver.join_all(2);
  for (int i = 0; i < 100; ++i) {
    driver.arrive(0);
  }
  driver.arrive(1);
  EXPECT_EQ(driver.first<Accept>().weight, 1.0);
  EXPECT_EQ(driver.last().reason.a, 100);
}

TEST(Async, WeighsALonePartByWhatIsInIt) {
  CheckedDriver driver("async", 1);
  driver.join_all(1);
  driver.arrive(0, {.examples = 12, .nominal = 32}, Time{});
  EXPECT_EQ(driver.first<Accept>().weight, 12.0 / 32.0);
  driver.arrive(0, {.examples = 64, .nominal = 32}, Time{});
  EXPECT_EQ(driver.first<Accept>().weight, 1.0);
}

TEST(Async, GoesOnAfterARefusal) {
  CheckedDriver driver("async", 1);
  driver.join_all(1);
  driver.end(0, Ending::kRefused);
  EXPECT_EQ(driver.version(), 0U);
  EXPECT_TRUE(driver.computes(0));
}

}  // namespace
}  // namespace outpace::policy

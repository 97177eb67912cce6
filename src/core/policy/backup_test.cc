#include "policy/backup.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

TEST(Backup, CommitsAtTheCutoffAndCancelsTheStragglersForGood) {
  CheckedDriver driver("backup:cutoff=2", 3);
  driver.join_all(3);
  driver.arrive(2);
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 1U);
  ASSERT_EQ(driver.count<Cancel>(), 1);
  EXPECT_EQ(driver.first<Cancel>().worker, WorkerId{1});
  EXPECT_FALSE(driver.first<Cancel>().keep_part);
}

TEST(Backup, DropsTheLateGradientAndGivesItsWorkerTheCurrentWeights) {
  CheckedDriver driver("backup:cutoff=1", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.arrive(1);
  EXPECT_EQ(driver.first<Drop>().why, Why::kAfterCutoff);
  EXPECT_EQ(driver.worker(1).version, 1U);
  EXPECT_EQ(driver.last().reason.a, 1);
}

TEST(Backup, CancelsAStragglerOnceHoweverManyUpdatesItMisses) {
  CheckedDriver driver("backup:cutoff=1", 2);
  driver.join_all(2);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 1);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 0);
}

TEST(Backup, CountsTheLateOneInTheRoundItWasReleasedInto) {
  CheckedDriver driver("backup:cutoff=2", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.arrive(1);
  driver.end(2, Ending::kAbandoned);
  driver.arrive(2);
  EXPECT_EQ(driver.count<Accept>(), 1);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 2U);
}

TEST(Backup, ALateRefusalIsNoAnswerToThisRound) {
  CheckedDriver driver("backup:cutoff=2", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.arrive(1);
  driver.end(2, Ending::kRefused);
  EXPECT_EQ(driver.worker(2).version, 1U);
  EXPECT_TRUE(driver.computes(2));
}

TEST(Backup, ShrinksTheCutoffToWhatCanStillCome) {
  CheckedDriver driver("backup:cutoff=3", 4);
  driver.join_all(4);
  driver.arrive(0);
  driver.end(1, Ending::kRefused);  // 1 taken up, 2 can come: still 3.
  driver.arrive(2);
  EXPECT_EQ(driver.version(), 0U);
  driver.leave(3, Departure::kDead);  // 2 taken up, none can come.
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.count<Release>(), 3);
}

TEST(Backup, WithFewerLiveThanTheCutoffWaitsForAllOfThem) {
  CheckedDriver driver("backup:cutoff=3", 3);
  driver.join_all(2);
  driver.arrive(0);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 1U);
  EXPECT_EQ(driver.count<Cancel>(), 0);
}

}  // namespace
}  // namespace outpace::policy

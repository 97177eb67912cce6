#include "policy/saps.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

// Two workers, of which worker 0 has made `updates` updates and worker 1 none.
CheckedDriver ahead(const std::string& spec, int updates) {
  CheckedDriver driver(spec, 2);
  driver.join_all(2);
  for (int i = 0; i < updates; ++i) {
    driver.arrive(0);
  }
  return driver;
}

TEST(Saps, AcceptsUpToTheBoundAndDropsBeyondIt) {
  for (const std::string action : {"refresh", "shrink"}) {
    CheckedDriver at = ahead("saps:s=3,action=" + action, 3);
    at.arrive(1);
    EXPECT_EQ(at.count<Accept>(), 1);

    CheckedDriver beyond = ahead("saps:s=3,action=" + action, 4);
    beyond.arrive(1);
    EXPECT_EQ(beyond.first<Drop>().why, Why::kTooStale);
    EXPECT_EQ(beyond.worker(1).version, 4U);
  }
}

TEST(Saps, InterruptsAWorkerWhoseGradientWouldBeDropped) {
  for (const std::string action : {"refresh", "shrink"}) {
    CheckedDriver driver = ahead("saps:s=3,action=" + action, 3);
    EXPECT_EQ(driver.count<Cancel>(), 0);
    driver.arrive(0);
    EXPECT_EQ(driver.first<Cancel>().worker, WorkerId{1});
    EXPECT_FALSE(driver.first<Cancel>().keep_part);
    driver.arrive(0);
    EXPECT_EQ(driver.count<Cancel>(), 0);  // Once a release.
    driver.end(1, Ending::kAbandoned);
    EXPECT_EQ(driver.worker(1).version, 5U);
    EXPECT_TRUE(driver.computes(1));
  }
}

// Worker 0 takes 1 s. After 2 s worker 1 is interrupted, so that a mini-batch takes it 2 s at
// least.
TEST(Saps, ShrinksTheMinibatchOfOneThatWasInterrupted) {
  CheckedDriver driver("saps:s=1,action=shrink", 2);
  driver.join_all(2);
  driver.arrive(0, {}, at(1));
  driver.arrive(1, {}, at(1));
  driver.arrive(0, {}, at(2));
  driver.arrive(0, {}, at(3));
  EXPECT_EQ(driver.first<Cancel>().worker, WorkerId{1});
  driver.end(1, Ending::kAbandoned, at(3));
  EXPECT_EQ(driver.worker(1).share, 0.5);
  // A quarter: half of what it takes, and halved because it was late again.
  driver.arrive(0, {}, at(4));
  driver.arrive(0, {}, at(5));
  driver.end(1, Ending::kAbandoned, at(5));
  EXPECT_EQ(driver.worker(1).share, 0.125);
}

TEST(Saps, PreemptsByDefaultBeforeTheBoundIsReached) {
  CheckedDriver driver = ahead("saps:s=3", 1);
  EXPECT_EQ(driver.count<Cancel>(), 0);
  driver.arrive(0);
  EXPECT_EQ(driver.first<Cancel>().worker, WorkerId{1});
  EXPECT_TRUE(driver.first<Cancel>().keep_part);
  EXPECT_EQ(driver.last().reason.why, Why::kStragglerCancelled);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 0);  // Once a release.
  driver.arrive(1, {.examples = 4, .nominal = 32, .partial = true}, Time{});
  EXPECT_EQ(driver.first<Accept>().weight, 4.0 / 32.0);
}

TEST(Saps, DropsAPartThatIsTooLateAllTheSame) {
  CheckedDriver driver = ahead("saps:s=3,action=preempt", 4);
  driver.arrive(1, {.examples = 4, .nominal = 32, .partial = true}, Time{});
  EXPECT_EQ(driver.first<Drop>().why, Why::kTooStale);
}

TEST(Saps, ReleasesAgainWhoHadNothingToPush) {
  CheckedDriver driver = ahead("saps:s=3,action=preempt", 3);
  driver.end(1, Ending::kAbandoned);
  EXPECT_EQ(driver.worker(1).version, 3U);
  EXPECT_TRUE(driver.computes(1));
}

TEST(Saps, DoesNotInterruptOneThatLeft) {
  CheckedDriver driver = ahead("saps:s=3,action=preempt", 1);
  driver.leave(1, Departure::kDead);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 0);
  driver.join(1);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 0);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 1);
}

TEST(Saps, ShrinksTheMinibatchOfOneThatWasLate) {
  CheckedDriver driver("saps:s=1,action=shrink", 2);
  driver.join_all(2);
  driver.arrive(0, {}, Time{from_seconds(1)});
  driver.arrive(0, {}, Time{from_seconds(2)});
  driver.arrive(1, {}, Time{from_seconds(4)});
  EXPECT_EQ(driver.last().reason.why, Why::kStragglerShrunk);
  EXPECT_EQ(driver.worker(1).share, 0.25);
  EXPECT_EQ(driver.worker(0).share, 1.0);
}

TEST(Saps, DampensByOneOverStalenessAndDropsNothing) {
  CheckedDriver driver = ahead("saps:s=3,action=dampen", 10);
  driver.arrive(1);
  EXPECT_EQ(driver.first<Accept>().weight, 0.1);
  driver.arrive(1, {.examples = 16}, Time{});
  EXPECT_EQ(driver.first<Accept>().weight, 0.5);  // Fresh, and half a mini-batch.
}

}  // namespace
}  // namespace outpace::policy

#include "policy/switch.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

CheckedDriver driver_of(const std::string& spec, std::uint32_t workers) {
  return CheckedDriver(std::make_unique<Switch>(Spec::parse(spec), workers));
}

Measured loss(double value) {
  return {.what = Measure::kTrainingLoss, .value = value, .version = Version{0}};
}

TEST(Switch, ReleasesNobodyUntilAllWhoComputeAreDone) {
  CheckedDriver driver("switch(async until updates>1 then sync)", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.arrive(0);  // The second update: the condition holds.
  EXPECT_EQ(driver.count<Release>(), 0);
  EXPECT_EQ(driver.last().reason.why, Why::kSwitching);
  EXPECT_EQ(driver.last().reason.a, 2);
  driver.arrive(1);
  EXPECT_EQ(driver.count<Release>(), 0);
  driver.arrive(2);
  EXPECT_EQ(driver.count<Switched>(), 1);
  EXPECT_EQ(driver.count<Release>(), 3);
  EXPECT_EQ(driver.version(), 4U) << "nothing is lost: each gradient was an update";
  EXPECT_EQ(driver.last().reason.a, 4);
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    EXPECT_EQ(driver.worker(worker).version, 4U) << "all begin on the seam's version";
  }
}

TEST(Switch, CostsNothingWhereARoundHasEnded) {
  CheckedDriver driver("switch(sync until updates>0 then async)", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.arrive(1);
  EXPECT_EQ(driver.count<Commit>(), 1);
  EXPECT_EQ(driver.count<Switched>(), 1);
  EXPECT_EQ(driver.count<Release>(), 2);
}

TEST(Switch, CommitsAtTheSeamWhatHadBeenTakenUp) {
  CheckedDriver driver = driver_of("kbatchasync:k=5", 5);
  driver.join_all(2);
  driver.arrive(0);
  driver.pass(PolicySet{"sync"});
  driver.arrive(0);
  driver.arrive(1);
  EXPECT_EQ(driver.count<Commit>(), 1) << "of three, not five";
  EXPECT_EQ(driver.count<Switched>(), 1);
  EXPECT_EQ(driver.uncommitted(), 0U);
}

TEST(Switch, LetsTheOldPolicyDropWhatCameTooLateForIt) {
  CheckedDriver driver("switch(backup:cutoff=1 until updates>0 then async)", 2);
  driver.join_all(2);
  driver.arrive(0);
  EXPECT_EQ(driver.count<Cancel>(), 1);
  EXPECT_EQ(driver.count<Switched>(), 0);
  driver.arrive(1);  // It crossed its cancellation.
  EXPECT_EQ(driver.first<Drop>().why, Why::kAfterCutoff);
  EXPECT_EQ(driver.count<Switched>(), 1);
}

TEST(Switch, WaitsForNobodyWhoIsGone) {
  CheckedDriver driver("switch(async until updates>0 then sync)", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.leave(1, Departure::kDead);
  EXPECT_EQ(driver.count<Switched>(), 0);
  driver.leave(2, Departure::kDead);
  EXPECT_EQ(driver.count<Switched>(), 1);
  EXPECT_EQ(driver.count<Release>(), 1);
}

TEST(Switch, LetsAJoinerWaitForTheSeam) {
  CheckedDriver driver("switch(async until updates>0 then sync)", 3);
  driver.join_all(2);
  driver.arrive(0);
  driver.join(2);
  EXPECT_EQ(driver.count<Release>(), 0);
  driver.end(1, Ending::kRefused);
  EXPECT_EQ(driver.count<Release>(), 3);
}

TEST(Switch, HandsOverWhenNobodyIsThere) {
  CheckedDriver driver = driver_of("async", 2);
  driver.pass(PolicySet{"sync"});
  EXPECT_EQ(driver.count<Switched>(), 1);
  driver.join_all(2);
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 0U) << "sync waits for the other";
}

TEST(Switch, HearsTheTrainingLossOnlyWhereItWaitsForIt) {
  Switch plain(Spec::parse("switch(async until updates>9 then sync)"), 2);
  EXPECT_FALSE(plain.asks_for_training_loss());
  Switch chain(Spec::parse("switch(async until loss<0.5 then sync until loss>9 then async)"), 2);
  Decision out;
  EXPECT_TRUE(chain.asks_for_training_loss());
  chain.decide(Time{}, WorkerJoined{WorkerId{0}}, out);
  chain.decide(Time{}, loss(0.5), out);
  EXPECT_TRUE(chain.asks_for_training_loss());
  chain.decide(Time{}, loss(0.4), out);
  EXPECT_FALSE(chain.asks_for_training_loss()) << "it drains";
  chain.decide(Time{}, WorkerLeft{WorkerId{0}, Departure::kLeft}, out);
  EXPECT_TRUE(chain.asks_for_training_loss());
  chain.decide(Time{}, loss(10), out);
  EXPECT_FALSE(chain.asks_for_training_loss()) << "nothing is left to wait for";
}

TEST(Switch, IsNotMovedByAnotherMeasure) {
  CheckedDriver driver("switch(async until test-accuracy>0.5 then sync)", 1);
  driver.join(0);
  driver.pass(Measured{.what = Measure::kTestLoss, .value = 0.9, .version = Version{0}});
  driver.pass(loss(0.9));
  driver.arrive(0);
  EXPECT_EQ(driver.count<Switched>(), 0);
  driver.pass(Measured{.what = Measure::kTestAccuracy, .value = 0.9, .version = Version{0}});
  driver.arrive(0);
  EXPECT_EQ(driver.count<Switched>(), 1);
}

TEST(Switch, TakesTheLastPolicyThatWasSet) {
  CheckedDriver driver("switch(async until updates>100 then sync)", 2);
  driver.join_all(2);
  driver.pass(PolicySet{"sync"});
  driver.pass(PolicySet{"switch(ssp:s=0 until seconds>5 then async)"});
  driver.arrive(0);
  driver.arrive(1);
  EXPECT_EQ(driver.first<Switched>().to, 0U) << "of the second one";
  driver.arrive(0, {}, at(1));
  EXPECT_EQ(driver.count<Commit>(), 1) << "ssp, not sync";
  EXPECT_EQ(driver.count<Release>(), 0) << "and it holds the faster";
  driver.arrive(1, {}, at(6));
  EXPECT_EQ(driver.first<Switched>().to, 1U);
}

}  // namespace
}  // namespace outpace::policy

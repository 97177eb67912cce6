#include "policy/adasync.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

Event measured(Measure what, double value) {
  return Measured{.what = what, .value = value, .version = Version{0}};
}

// Dutta, Wang, Joshi (2021): K = K_0 sqrt(F(w_0) / F(w)), in whole gradients of any workers.
TEST(AdaSync, WaitsForMoreByTheRootOfHowFarTheLossFell) {
  CheckedDriver driver("adasync:k=2,rule=kbatchasync,loss=test", 20);
  struct Expected {
    double loss;
    double k;
  };
  for (const Expected& expected : {Expected{2.3, 2},
                                   Expected{2.3 / 2.25, 3},
                                   Expected{2.3 / 4, 4},
                                   Expected{2.3 / 100, 20},
                                   Expected{2.3 / 1000, 20},
                                   Expected{2.3 * 4, 1},
                                   Expected{2.3 * 1000, 1}}) {
    driver.pass(measured(Measure::kTestLoss, expected.loss));
    EXPECT_EQ(driver.last().reason.why, Why::kCutoffChosen);
    EXPECT_EQ(driver.last().reason.a, expected.k) << expected.loss;
  }
}

// K^2 / (P - K) grows as the loss falls: 4 of 20 workers, 16 / 16 = 1, then 2.25 and so on.
TEST(AdaSync, WaitsForFewerOfTheLastWorkersWhereEachCounts) {
  for (const std::string rule : {"kasync", "ksync"}) {
    CheckedDriver driver("adasync:k=4,rule=" + rule + ",loss=test", 20);
    struct Expected {
      double ratio;
      double k;
    };
    for (const Expected& expected : {Expected{1, 4},
                                     Expected{25.0 / 15, 5},
                                     Expected{100.0 / 10, 10},
                                     Expected{225.0 / 5, 15},
                                     Expected{361.0, 19},
                                     Expected{1e9, 20},
                                     Expected{1.0 / 19, 1},
                                     Expected{1e-9, 1}}) {
      driver.pass(measured(Measure::kTestLoss, 2.3 / expected.ratio));
      EXPECT_EQ(driver.last().reason.a, expected.k) << rule << ", " << expected.ratio;
    }
  }
  CheckedDriver all("adasync:k=20,loss=test", 20);
  all.pass(measured(Measure::kTestLoss, 2.0));
  all.pass(measured(Measure::kTestLoss, 9.0));
  EXPECT_EQ(all.last().reason.a, 20.0);
}

TEST(AdaSync, CountsTheLiveWorkers) {
  CheckedDriver driver("adasync:k=2,loss=test", 8);
  driver.join_all(4);
  driver.pass(measured(Measure::kTestLoss, 2.0));
  driver.pass(measured(Measure::kTestLoss, 1e-9));
  EXPECT_EQ(driver.last().reason.a, 4.0);
  driver.leave(3);
  driver.pass(measured(Measure::kTestLoss, 1e-9));
  EXPECT_EQ(driver.last().reason.a, 3.0);
}

TEST(AdaSync, HasTheNewCutoffFromTheNextGradientOn) {
  CheckedDriver driver("adasync:k=1,rule=kbatchasync,loss=test", 4);
  driver.join_all(4);
  driver.pass(measured(Measure::kTestLoss, 2.0));
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 1U);
  driver.pass(measured(Measure::kTestLoss, 0.5));
  driver.arrive(0);
  EXPECT_EQ(driver.version(), 1U);
  driver.arrive(1);
  EXPECT_EQ(driver.version(), 2U);
}

TEST(AdaSync, IsNotMovedByWhatIsNoLoss) {
  CheckedDriver driver("adasync:k=2,loss=test", 4);
  driver.pass(measured(Measure::kTestAccuracy, 0.9));
  EXPECT_EQ(driver.last().reason.why, Why::kNone);
  for (const double loss : {std::nan(""), HUGE_VAL, 0.0, -1.0}) {
    driver.pass(measured(Measure::kTestLoss, loss));
    EXPECT_EQ(driver.last().reason.why, Why::kNone) << loss;
  }
}

TEST(AdaSync, FollowsTheTrainingLossByDefaultAndTheOtherOnRequest) {
  for (const Measure followed : {Measure::kTrainingLoss, Measure::kTestLoss}) {
    const bool training = followed == Measure::kTrainingLoss;
    const std::string spec = training ? "adasync:k=2" : "adasync:k=2,loss=test";
    EXPECT_EQ(make_policy(Spec::parse(spec), 8)->asks_for_training_loss(), training);
    CheckedDriver driver(spec, 8);
    for (const Measure told : {Measure::kTrainingLoss, Measure::kTestLoss}) {
      driver.pass(measured(told, 1.0));
      EXPECT_EQ(driver.last().reason.why, told == followed ? Why::kCutoffChosen : Why::kNone);
    }
  }
}

TEST(AdaSync, HearsOfTheTrainingLossAsAPhaseOfASwitch) {
  const auto asks = [](const char* spec) {
    return make_settable_policy(Spec::parse(spec), 8)->asks_for_training_loss();
  };
  EXPECT_TRUE(asks("adasync:k=2"));
  EXPECT_TRUE(asks("switch(adasync:k=2 until updates>9 then sync)"));
  EXPECT_FALSE(asks("switch(sync until updates>9 then adasync:k=2)"));
  EXPECT_FALSE(asks("adasync:k=2,loss=test"));
}

}  // namespace
}  // namespace outpace::policy

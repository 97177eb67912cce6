#include "policy/adasync.h"

#include <cmath>

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

Event measured(Measure what, double value) {
  return Measured{.what = what, .value = value, .version = Version{0}};
}

// Dutta, Wang, Joshi (2021): K = K_0 sqrt(F(w_0) / F(w)), in whole gradients.
TEST(AdaSync, WaitsForMoreByTheRootOfHowFarTheLossFell) {
  CheckedDriver driver("adasync:k=2,rule=kbatchasync", 20);
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

TEST(AdaSync, HasTheNewCutoffFromTheNextGradientOn) {
  CheckedDriver driver("adasync:k=1,rule=kbatchasync", 4);
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
  CheckedDriver driver("adasync:k=2", 4);
  driver.pass(measured(Measure::kTestAccuracy, 0.9));
  EXPECT_EQ(driver.last().reason.why, Why::kNone);
  for (const double loss : {std::nan(""), HUGE_VAL, 0.0, -1.0}) {
    driver.pass(measured(Measure::kTestLoss, loss));
    EXPECT_EQ(driver.last().reason.why, Why::kNone) << loss;
  }
}

}  // namespace
}  // namespace outpace::policy

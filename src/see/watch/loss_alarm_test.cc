#include "watch/loss_alarm.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

constexpr Time kNow{std::chrono::seconds(7)};

TEST(LossAlarm, BeginsFarAboveTheLeastAndTheFirstAndEndsWellBelowThat) {
  LossAlarm watch;
  EXPECT_TRUE(watch.see(kNow, 4.0)->over);  // Far below 8.
  EXPECT_TRUE(watch.see(kNow, 2.0)->over);  // The least: the bound is 6 = 1.5 * 4.
  EXPECT_FALSE(watch.see(kNow, 6.0));       // At the bound, and above 0.9 of it.
  const auto alarm = watch.see(kNow, 6.1);
  ASSERT_TRUE(alarm);
  EXPECT_FALSE(alarm->over);
  EXPECT_EQ(alarm->at, kNow);
  EXPECT_EQ(alarm->kind, AlarmKind::kLoss);
  EXPECT_EQ(alarm->words, "the training loss diverges: 6.1, and it was 2 at its least");
  EXPECT_FALSE(watch.see(kNow, 5.5));
  EXPECT_EQ(watch.see(kNow, 5.4)->words, "the training loss is 5.4 again");
}

TEST(LossAlarm, BeginsIfTheLossIsNotFiniteAndForgetsThatLoss) {
  LossAlarm watch;
  EXPECT_EQ(watch.see(kNow, NAN)->words, "the training loss is not finite");
  EXPECT_FALSE(watch.see(kNow, HUGE_VAL)->over);
  EXPECT_TRUE(watch.see(kNow, 1.0)->over);
  EXPECT_FALSE(watch.see(kNow, 2.1)->over);
}

TEST(LossAlarm, HasNoScaleForALossThatIsNotAboveZeroAtFirst) {
  LossAlarm watch;
  EXPECT_TRUE(watch.see(kNow, -1.0)->over);
  EXPECT_TRUE(watch.see(kNow, 1e9)->over);
}

}  // namespace
}  // namespace outpace::watch

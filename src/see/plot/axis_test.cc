#include "plot/axis.h"

#include <gtest/gtest.h>

namespace outpace::plot {
namespace {

TEST(Axis, HasRoundTicksThatHoldTheData) {
  EXPECT_EQ(axis_of({0.0, 10.0}, 5), (Axis{{0.0, 10.0}, {0.0, 2.0, 4.0, 6.0, 8.0, 10.0}}));
  EXPECT_EQ(axis_of({12.0, 87.0}, 5), (Axis{{0.0, 100.0}, {0.0, 20.0, 40.0, 60.0, 80.0, 100.0}}));
  EXPECT_EQ(axis_of({0.0, 0.9}, 2), (Axis{{0.0, 1.0}, {0.0, 0.5, 1.0}}));
  EXPECT_EQ(axis_of({-3.0, 3.0}, 4), (Axis{{-4.0, 4.0}, {-4.0, -2.0, 0.0, 2.0, 4.0}}));
}

TEST(Axis, WholeTicksAtBothEndsAreNotTooMany) {
  for (std::size_t most = 1; most < 9; ++most) {
    for (double low = 0.3; low < 7.0; low += 0.9) {
      const Axis axis = axis_of({low, 11.7 * low}, most);
      EXPECT_LE(axis.ticks.size(), most + 1);
      EXPECT_LE(axis.range.low, low);
      EXPECT_GE(axis.range.high, 11.7 * low);
    }
  }
}

TEST(Axis, ARangeOfNoWidthIsWidened) {
  const Axis axis = axis_of({50.0, 50.0}, 5);
  EXPECT_LT(axis.range.low, 50.0);
  EXPECT_GT(axis.range.high, 50.0);
  EXPECT_LT(axis_of({0.0, 0.0}, 5).range.low, axis_of({0.0, 0.0}, 5).range.high);
}

TEST(Axis, ALogarithmicOneHasTicksAtOneTwoAndFive) {
  const Axis axis = logarithmic_axis_of({0.4, 25.0}, 7);
  EXPECT_EQ(axis.ticks, (std::vector<double>{0.5, 1.0, 2.0, 5.0, 10.0, 20.0}));
  EXPECT_EQ(tick_words(axis, 0), "0.5");
  EXPECT_EQ(tick_words(axis, 5), "20");
  EXPECT_EQ(logarithmic_axis_of({0.4, 25.0}, 5).ticks, (std::vector<double>{1.0, 10.0}));
}

TEST(Axis, SharesOfALogarithmicOneAreThoseOfRatios) {
  const Axis axis = logarithmic_axis_of({1.0, 100.0}, 7);
  EXPECT_DOUBLE_EQ(share_of(1.0, axis), 0.0);
  EXPECT_DOUBLE_EQ(share_of(10.0, axis), 0.5);
  EXPECT_DOUBLE_EQ(share_of(100.0, axis), 1.0);
  EXPECT_DOUBLE_EQ(share_of(25.0, axis_of({0.0, 100.0}, 5)), 0.25);
}

TEST(TickWords, AreTheAxisOwnIfItHasAny) {
  EXPECT_EQ(tick_words(axis_of({0.0, 10.0}, 5), 1), "2");
  EXPECT_EQ(tick_words({.range = {0.0, 1.0}, .ticks = {0.5}, .words = {"half"}}, 0), "half");
}

TEST(TickText, HasTheDecimalsOfTheStep) {
  EXPECT_EQ(tick_text(1000.0, 500.0), "1,000");
  EXPECT_EQ(tick_text(0.5, 0.5), "0.5");
  EXPECT_EQ(tick_text(1.0, 0.5), "1.0");
  EXPECT_EQ(tick_text(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_text(-20.0, 20.0), "-20");
}

}  // namespace
}  // namespace outpace::plot

#include "plot/panel.h"

#include <gtest/gtest.h>

namespace outpace::plot {
namespace {

TEST(Panel, PutsValuesWhereTheAxesHaveThem) {
  Svg svg(800, 400);
  const Panel panel(svg, {{10, 20}, 200}, axis_of({0, 10}, 5), axis_of({0, 100}, 5));
  EXPECT_DOUBLE_EQ(panel.at({0, 0}).x, panel.left());
  EXPECT_DOUBLE_EQ(panel.at({10, 0}).x, panel.right());
  EXPECT_DOUBLE_EQ(panel.at({5, 0}).x, panel.left() + 100);
  EXPECT_DOUBLE_EQ(panel.at({0, 100}).y, 20 + kPanelTop);
  EXPECT_DOUBLE_EQ(panel.at({0, 50}).y, 20 + kPanelTop + kPlotHeight / 2);
}

TEST(Panel, TheNearestOfWhatIsOutsideIsOnTheEdge) {
  Svg svg(800, 400);
  const Panel panel(svg, {{10, 20}, 200, 100}, axis_of({0, 10}, 5), axis_of({0, 100}, 5));
  EXPECT_DOUBLE_EQ(panel.nearest({11, -5}).x, panel.at({10, 0}).x);
  EXPECT_DOUBLE_EQ(panel.nearest({11, -5}).y, panel.at({10, 0}).y);
  EXPECT_DOUBLE_EQ(panel.nearest({5, 150}).x, panel.at({5, 100}).x);
  EXPECT_DOUBLE_EQ(panel.nearest({5, 150}).y, 20 + kPanelTop);
  EXPECT_DOUBLE_EQ(panel.at({0, 0}).y, 20 + kPanelTop + 100);
}

TEST(Panel, ALogarithmicAxisHasNoNumberThatIsNone) {
  Svg svg(800, 400);
  Panel panel(
      svg, {{0, 0}, 200}, logarithmic_axis_of({1, 100}, 7), logarithmic_axis_of({0.1, 10}, 7));
  panel.axes({.title = "", .level = "seconds", .upright = ""});
  EXPECT_EQ(svg.document().find("nan"), std::string::npos);
  EXPECT_EQ(svg.document().find("inf"), std::string::npos);
  EXPECT_DOUBLE_EQ(panel.at({10, 1}).x, panel.left() + 100);
}

TEST(Panel, AnAxisFromZeroHasNoEmptyEnd) {
  const Axis axis = axis_from_zero(32.0);
  EXPECT_DOUBLE_EQ(axis.range.low, 0.0);
  EXPECT_DOUBLE_EQ(axis.range.high, 1.04 * 32.0);
  EXPECT_DOUBLE_EQ(axis.ticks.back(), 30.0);
  EXPECT_DOUBLE_EQ(axis_from_zero(0.0).range.high, 1.0);
}

TEST(Panel, ALegendGoesOnInTheNextRowWhereItIsFull) {
  std::vector<LegendEntry> entries{{"sync", {}}, {"async", {}}, {"a name that is long", {}}};
  EXPECT_DOUBLE_EQ(lay_out(entries, 250), 2 * kLegendRow);
  EXPECT_EQ(entries[0].at.y, 0.0);
  EXPECT_GT(entries[1].at.x, 0.0);
  EXPECT_EQ(entries[2].at.x, 0.0);
  EXPECT_EQ(entries[2].at.y, kLegendRow);
  std::vector<LegendEntry> none;
  EXPECT_EQ(lay_out(none, 250), 0.0);
}

TEST(Panel, KindsHaveColoursAndThenDashes) {
  EXPECT_NE(stroke_of(0).colour, stroke_of(1).colour);
  EXPECT_EQ(stroke_of(0).colour, stroke_of(7).colour);
  EXPECT_TRUE(stroke_of(0).dashes.empty());
  EXPECT_FALSE(stroke_of(7).dashes.empty());
}

}  // namespace
}  // namespace outpace::plot

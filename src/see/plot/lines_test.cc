#include "plot/lines.h"

#include <gtest/gtest.h>

namespace outpace::plot {
namespace {

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++n;
  }
  return n;
}

LineChart two_models() {
  return {.title = "How fast",
          .level = "workers",
          .upright = "examples/s",
          .lines = {{.name = "sync",
                     .kind = 0,
                     .points = {{1, 10, Interval{9, 11}}, {2, 19, Interval{18, 20}}, {3, 19.5}},
                     .mark = LineMark{1, "2 workers"}},
                    {.name = "sync", .kind = 0, .dashed = true, .points = {{1, 10}, {3, 20}}},
                    {.name = "ring", .kind = 1, .points = {{2, 12}}}},
          .ideal = {{0, 0}, {1, 10}, {3, 30}},
          .ideal_name = "ideal",
          .notes = {"a note"}};
}

TEST(Lines, HaveOneColourAndOneNameAKind) {
  const std::string svg = line_plot_of(two_models());
  EXPECT_EQ(times(svg, ">sync<"), 1);
  EXPECT_EQ(times(svg, ">ring<"), 1);
  EXPECT_EQ(times(svg, ">ideal<"), 1);
  EXPECT_EQ(times(svg, ">a note<"), 1);
  EXPECT_EQ(times(svg, ">workers<"), 1);
  EXPECT_EQ(times(svg, ">2 workers<"), 1);
  EXPECT_EQ(times(svg, "<polygon"), 1);
  EXPECT_EQ(times(svg, "stroke-dasharray=\"6 4\""), 1);
  EXPECT_EQ(times(svg, "<circle"), 3 + 1 + 2);  // Points of solid lines, and the mark's two.
}

TEST(Lines, TheIdealEndsWhereThePictureDoes) {
  const std::string svg = line_plot_of(two_models());
  const std::string thin = " fill=\"none\" stroke-linejoin=\"round\" stroke=\"#777777\"";
  EXPECT_EQ(times(svg, ",44\"" + thin), 1) << svg;  // The panel's upper end.
}

TEST(Lines, AtNothingAreDrawnToo) {
  LineChart chart = two_models();
  chart.lines = {{.name = "none", .kind = 0, .points = {{0, 0}}}};
  chart.ideal.clear();
  EXPECT_EQ(times(line_plot_of(chart), "nan"), 0);
}

}  // namespace
}  // namespace outpace::plot

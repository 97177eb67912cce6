#include "plot/bars.h"

#include <gtest/gtest.h>

namespace outpace::plot {
namespace {

TEST(BarLines, AreAsLongAsTheirValuesSay) {
  EXPECT_EQ(bar_lines({{.name = "as it was", .value = 1.0, .words = "1.00 x"},
                       {.name = "sync", .value = 2.0, .words = "2.00 x"},
                       {.name = "none", .value = 0.0, .words = "0"},
                       {.name = "bit", .value = 0.3125, .words = "-"}},
                      4),
            "as it was  ██    1.00 x\n"
            "sync       ████  2.00 x\n"
            "none             0\n"
            "bit        ▋     -\n");
  EXPECT_EQ(bar_lines({}, 4), "");
  EXPECT_EQ(bar_lines({{.name = "a", .value = 0.0, .words = "0"}}, 2), "a      0\n");
}

// The x of the first box, and how wide each is.
std::vector<double> widths_of(const std::string& svg) {
  std::vector<double> widths;
  for (std::size_t at = svg.find("<path d=\"M"); at != std::string::npos;
       at = svg.find("<path d=\"M", at + 1)) {
    const std::size_t h = svg.find('h', at + 10);
    widths.push_back(std::stod(svg.substr(h + 1)));
  }
  return widths;
}

TEST(BarPlot, DrawsBarsToScaleAndSaysWhatTheyAre) {
  const std::string svg = bar_plot_of(
      {.title = "A <title>",
       .unit = "times as fast",
       .bars = {{.name = "as it was", .value = 1.0, .words = "one"},
                {.name = "async", .value = 3.0, .words = "three", .interval = Interval{2.5, 3.5}}},
       .notes = {"a note"}});
  const auto widths = widths_of(svg);
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_NEAR(widths[1] / widths[0], 3.0, 0.001);
  for (const char* words : {"A &lt;title&gt;", "times as fast", "as it was", "three", "a note"}) {
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  }
}

TEST(BarPlot, OfNothingButZeroIsAPicture) {
  const std::string svg =
      bar_plot_of({.title = "", .unit = "", .bars = {{.name = "a", .value = 0.0, .words = ""}}});
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace outpace::plot

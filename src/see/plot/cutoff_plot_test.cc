#include "plot/cutoff_plot.h"

#include <gtest/gtest.h>

namespace outpace::plot {
namespace {

std::size_t times_in(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++n;
  }
  return n;
}

// One of `workers` takes ten times as long as the others and is not waited for.
CutoffFigure uneven(std::size_t iterations, std::size_t workers) {
  CutoffFigure figure{.trace = "r.csv", .rule = "last, before", .first_row = 40, .iterations = {}};
  std::vector<double> came(workers, 0.02);
  came.back() = 0.2;
  const auto count = static_cast<std::uint32_t>(workers - 1);
  for (std::size_t i = 0; i < iterations; ++i) {
    figure.iterations.push_back({.came = came,
                                 .chosen = {.seconds = 0.02, .count = count},
                                 .oracle = {.seconds = 0.02, .count = count},
                                 .forecast = {}});
  }
  return figure;
}

TEST(CutoffPlot, SaysHowFastItWas) {
  const std::string svg = cutoff_plot_of(uneven(30, 4));  // 3 in 0.02 s, or 4 in 0.2 s.
  EXPECT_EQ(times_in(svg, ">r.csv: 4 workers, last, before<"), 1);
  EXPECT_EQ(times_in(svg, ">last, before: 7.500 x sync<"), 1);
  EXPECT_EQ(times_in(svg, ">oracle: 7.500 x sync<"), 1);
  EXPECT_EQ(times_in(svg, ">Gradients a second, of each iteration<"), 1);
  EXPECT_EQ(times_in(svg, ">100 ms<"), 1);
  EXPECT_EQ(times_in(svg, "nan"), 0);
}

TEST(CutoffPlot, DrawsAForecastWhereThereWasOne) {
  CutoffFigure figure = uneven(30, 4);
  const std::string without = cutoff_plot_of(figure);
  figure.iterations[3].forecast = ForecastBand{0.01, 0.015, 0.025, 100.0};  // Beyond the axis.
  const std::string with = cutoff_plot_of(figure);
  EXPECT_EQ(times_in(with, "z\" fill"), times_in(without, "z\" fill") + 2);
}

TEST(CutoffPlot, OfManyIterationsShowsAWindowAndSaysSo) {
  CutoffFigure figure = uneven(2000, 4);
  figure.window = 1900;
  const std::string svg = cutoff_plot_of(figure);
  EXPECT_EQ(times_in(svg, "in blocks of 20 iterations"), 1);
  EXPECT_EQ(
      times_in(svg, "The window: 100 of the 2000 iterations that are judged, rows 1940 to 2039"),
      1);
  EXPECT_EQ(times_in(svg, "h0"), 4 * 100 + 1);  // A dot an arrival, and the key's.
}

TEST(CutoffPlot, OfManyWorkersDrawsSomeRanksAndSaysSo) {
  const std::string svg = cutoff_plot_of(uneven(10, 158));
  EXPECT_EQ(times_in(svg, "32 of 158 arrivals are drawn, evenly spaced in rank."), 1);
  EXPECT_EQ(times_in(svg, "h0"), 32 * 10 + 1);
  EXPECT_EQ(times_in(cutoff_plot_of(uneven(10, 32)), "evenly spaced"), 0);
}

TEST(CutoffPlot, OfOneIterationOfOneWorker) {
  CutoffFigure figure{.trace = "r.csv", .rule = "auto, during", .iterations = {}};
  figure.iterations.push_back({.came = {1.0},
                               .chosen = {.seconds = 1.0, .count = 1},
                               .oracle = {.seconds = 1.0, .count = 1},
                               .forecast = {}});
  const std::string svg = cutoff_plot_of(figure);
  EXPECT_EQ(times_in(svg, "1.000 x sync"), 2);
  EXPECT_EQ(times_in(svg, "nan"), 0);
}

}  // namespace
}  // namespace outpace::plot

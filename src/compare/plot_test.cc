#include "compare/plot.h"

#include <gtest/gtest.h>

#include "compare/comparison_test.h"

namespace outpace::compare {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++n;
  }
  return n;
}

std::string plot(const ExampleComparison& example) {
  return plot_of(example.config, example.cells, example.outcomes);
}

TEST(Plot, HasALineAndASpreadAPolicyAndNamesThem) {
  const std::string svg = plot(ExampleComparison());
  EXPECT_EQ(count(svg, "<polygon"), 2);
  EXPECT_EQ(count(svg, "<circle"), 2);
  EXPECT_EQ(count(svg, ">sync<"), 1);
  EXPECT_EQ(count(svg, ">saps:s=8,action=preempt<"), 1);
  EXPECT_EQ(count(svg, ">calm<"), 1);
  EXPECT_EQ(count(svg, ">simulated time (s)<"), 1);
  EXPECT_EQ(count(svg, ">test accuracy (%)<"), 1);
  EXPECT_EQ(count(svg, ">target 84%<"), 1);
}

TEST(Plot, HasAPanelATrace) {
  ExampleComparison example;
  example.config.mode = Mode::kLive;
  example.config.traces.push_back({.name = "bursty", .path = "b.csv", .line = 5});
  example.cells = cells_of(example.config);
  example.outcomes.resize(example.cells.size(), {.result = {}, .failure = "no"});
  const std::string svg = plot(example);
  EXPECT_EQ(count(svg, ">time (s)<"), 2);
  EXPECT_EQ(count(svg, ">bursty<"), 1);
}

TEST(Plot, OfOneSeedSpeaksOfNoMean) {
  ExampleComparison example;
  EXPECT_EQ(count(plot(example), "Mean of 3 seeds"), 1);
  example.config.seeds = {1};
  example.cells.resize(2);
  example.outcomes.resize(2);
  EXPECT_EQ(count(plot(example), "Mean of"), 0);
}

TEST(Plot, WithoutAnyAccuracySaysSo) {
  ExampleComparison example;
  for (Outcome& outcome : example.outcomes) {
    outcome = {.result = {}, .failure = "no"};
  }
  const std::string svg = plot(example);
  EXPECT_EQ(count(svg, ">no accuracy was measured<"), 1);
  EXPECT_EQ(count(svg, ">sync<"), 0);
  EXPECT_EQ(count(svg, "nan"), 0);
}

}  // namespace
}  // namespace outpace::compare

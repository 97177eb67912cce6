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
  EXPECT_EQ(count(svg, ">simulated time (s), logarithmic<"), 1);
  EXPECT_EQ(count(svg, ">test accuracy (%)<"), 1);
  EXPECT_EQ(count(svg, ">target 84%<"), 1);
}

TEST(Plot, NamesTheRowThatReachesTheTargetFirst) {
  ExampleComparison example;
  // Only sync reaches it in each of its runs, after 10, 12 and 14 s.
  EXPECT_EQ(count(plot(example), ">first: sync, 12.0 s<"), 1);
  for (Outcome& outcome : example.outcomes) {
    if (outcome.result) {
      outcome.result->seconds_to_target.reset();
    }
  }
  EXPECT_EQ(count(plot(example), "first: "), 0);
}

TEST(Plot, HasAPanelATrace) {
  ExampleComparison example;
  example.config.mode = Mode::kLive;
  example.config.traces.push_back({.name = "bursty", .path = "b.csv", .line = 5});
  example.cells = cells_of(example.config);
  example.outcomes.resize(example.cells.size(), {.result = {}, .failure = "no"});
  const std::string svg = plot(example);
  EXPECT_EQ(count(svg, ">time (s), logarithmic<"), 2);
  EXPECT_EQ(count(svg, ">bursty<"), 1);
}

TEST(Plot, ARowOfNoGroupIsGrey) {
  ExampleComparison example;
  example.config.groups = {{.name = "", .rows = {0}}};
  const std::string svg = plot(example);
  EXPECT_EQ(count(svg, "<polygon"), 1);
  EXPECT_EQ(count(svg, "<circle"), 1);
  EXPECT_EQ(count(svg, ">sync<"), 1);
  EXPECT_EQ(count(svg, ">saps:s=8,action=preempt<"), 1);
  EXPECT_EQ(count(svg, "stroke=\"#a8a8a8\""), 2);  // The curve and its place in the legend.
}

TEST(Plot, EachGroupHasItsPanelsAndItsName) {
  ExampleComparison example;
  example.config.groups = {{.name = "waiting", .rows = {0}}, {.name = "both", .rows = {1, 0}}};
  const std::string svg = plot(example);
  EXPECT_EQ(count(svg, ">waiting<"), 1);
  EXPECT_EQ(count(svg, ">both<"), 1);
  EXPECT_EQ(count(svg, ">calm<"), 2);
  EXPECT_EQ(count(svg, "<polygon"), 3);
  EXPECT_EQ(count(svg, ">sync<"), 2);
}

// Eight policies, each of which learns a little later than the one before.
ExampleComparison eight_policies() {
  ExampleComparison example;
  const Outcome outcome = example.outcomes.front();
  example.config.rows.clear();
  example.config.seeds = {1};
  example.outcomes.clear();
  for (int i = 0; i < 8; ++i) {
    const std::string name = "policy number " + std::to_string(i);
    example.config.rows.push_back({.name = name, .policy = name, .options = {}, .line = 3});
    example.outcomes.push_back(outcome);
    example.outcomes.back().result->accuracy = {{1.0 + i, 0.6}, {10.0 + i, 0.85}};
  }
  example.cells = cells_of(example.config);
  return example;
}

TEST(Plot, AFewRowsInGreyAreToldApartAndManyAreNot) {
  ExampleComparison example = eight_policies();
  example.config.groups = {{.name = "", .rows = {0, 1, 2, 3, 4}}};
  const std::string few = plot(example);
  EXPECT_EQ(count(few, ">policy number 7<"), 1);
  EXPECT_EQ(count(few, "stroke-dasharray=\"7 3\""), 2);
  example.config.groups = {{.name = "", .rows = {0}}};
  const std::string many = plot(example);
  EXPECT_EQ(count(many, ">policy number 7<"), 0);
  EXPECT_EQ(count(many, ">the other 7<"), 1);
  EXPECT_EQ(count(many, "stroke-dasharray=\"7 3\""), 0);
}

TEST(Plot, MoreRowsThanColoursAreDrawnInGroupsOfOneSize) {
  const std::string svg = plot(eight_policies());
  EXPECT_EQ(count(svg, ">calm<"), 2);
  EXPECT_EQ(count(svg, "<polygon"), 8);
  EXPECT_EQ(count(svg, ">policy number 3<"), 1);
  EXPECT_EQ(count(svg, ">the other 4<"), 2);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 2);  // The target's: no curve needs dashes.
}

TEST(Plot, TimesAreLogarithmicIfRunsDifferALot) {
  ExampleComparison example;  // 20 s and more, and 6 s.
  EXPECT_EQ(count(plot(example), ">simulated time (s), logarithmic<"), 1);
  for (Outcome& outcome : example.outcomes) {
    if (outcome.result) {
      outcome.result->accuracy.back().seconds = 20.0;
    }
  }
  EXPECT_EQ(count(plot(example), ">simulated time (s)<"), 1);
}

TEST(Plot, AFewVeryLowEvaluationsAreBelowTheAxisAndItSaysSo) {
  ExampleComparison example = eight_policies();
  std::vector<AccuracyAt>& accuracy = example.outcomes[3].result->accuracy;
  EXPECT_EQ(count(plot(example), ">Accuracies below"), 0);
  for (int i = 1; i < 20; ++i) {
    accuracy.insert(accuracy.end() - 1, {4.0 + 0.1 * i, 0.6});
  }
  accuracy.front().accuracy = 0.1;
  const std::string svg = plot(example);
  EXPECT_EQ(count(svg, ">Accuracies below 60% are not shown.<"), 1);
  EXPECT_EQ(count(svg, ">50<"), 0);
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

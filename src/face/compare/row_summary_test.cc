#include "compare/row_summary.h"

#include <gtest/gtest.h>

#include "compare/comparison_test.h"

namespace outpace::compare {
namespace {

TEST(Summary, MeansAreOverTheSeedsOfARow) {
  const std::vector<Summary> summaries = ExampleComparison().summaries();
  ASSERT_EQ(summaries.size(), 2);
  const Summary& sync = summaries[0];
  EXPECT_EQ(sync.finished, 3);
  EXPECT_EQ(sync.reached, 3);
  EXPECT_EQ(sync.examples_per_second->mean, 1002.0);
  EXPECT_EQ(sync.seconds_to_target->mean, 12.0);
  EXPECT_NEAR(*sync.seconds_to_target->half_width, 4.968, 1e-3);
  EXPECT_EQ(sync.failure, "");
}

TEST(Summary, WhatFailedOrDidNotReachTheTargetIsNotInItsMean) {
  const Summary saps = ExampleComparison().summaries()[1];
  EXPECT_EQ(saps.seeds, 3);
  EXPECT_EQ(saps.finished, 2);
  EXPECT_EQ(saps.reached, 1);
  EXPECT_EQ(saps.seconds_to_target, (Mean{.n = 1, .mean = 5.0, .half_width = {}}));
  EXPECT_EQ(saps.examples_per_second->n, 2);
  EXPECT_EQ(saps.staleness_max, 10.0);
  EXPECT_EQ(saps.failure, "the loss <is> not finite");
}

TEST(Summary, OfFailuresAloneHasNoMeans) {
  ExampleComparison example;
  for (Outcome& outcome : example.outcomes) {
    outcome = {.result = {}, .failure = "no"};
  }
  const Summary summary = example.summaries()[0];
  EXPECT_EQ(summary.finished, 0);
  EXPECT_EQ(summary.examples_per_second, std::nullopt);
  EXPECT_EQ(summary.staleness_max, std::nullopt);
}

}  // namespace
}  // namespace outpace::compare

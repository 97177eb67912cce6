#include "throughput/calibrate.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "throughput/known_cost_test.h"

namespace outpace::throughput {
namespace {

IterationCost grown_by(Growth growth) {
  IterationCost cost = kKnownCost;
  cost.growth = growth;
  return cost;
}

TEST(Calibrate, NotesWhatItSaw) {
  const CalibratedProfile profile = calibrate(known_rows(kKnownCost));
  ASSERT_EQ(profile.groups.size(), 1U);
  const CalibratedGroup& group = profile.groups.front();
  EXPECT_EQ(group.rows, 50U);
  const Seen seen{.workers_min = 1,
                  .workers_max = 16,
                  .local_workers_max = 4,
                  .across_workers_max = 16,
                  .workers_per_node_max = 4,
                  .batch_min = 16,
                  .batch_max = 256};
  EXPECT_EQ(group.seen, seen);
}

TEST(Calibrate, TakesTheLawBetweenTheOthersUnlessAnotherIsMuchBetter) {
  EXPECT_EQ(calibrate(known_rows(kKnownCost)).groups.front().cost.growth, Growth::kLogarithmic);
  EXPECT_EQ(
      calibrate(disturbed(known_rows(grown_by(Growth::kSaturating)))).groups.front().cost.growth,
      Growth::kLogarithmic);
  // A server's link that all workers share, and little else: nothing but a line comes near.
  IterationCost shared = grown_by(Growth::kLinear);
  shared.across = {.fixed = 0.0, .growth = 0.05};
  EXPECT_EQ(calibrate(disturbed(known_rows(shared))).groups.front().cost.growth, Growth::kLinear);
}

TEST(Calibrate, KeepsTheLawsThatTheRowsDoNotRuleOut) {
  // Nothing grows: any law says so.
  IterationCost flat = kKnownCost;
  flat.local = {.fixed = 0.02};
  flat.across = {.fixed = 0.1};
  EXPECT_EQ(calibrate(disturbed(known_rows(flat))).groups.front().others.size(), 2U);
  IterationCost steep = grown_by(Growth::kLinear);
  steep.across = {.fixed = 0.0, .growth = 0.5};
  EXPECT_TRUE(calibrate(known_rows(steep)).groups.front().others.empty());
}

TEST(Calibrate, DoesNotPretendToKnowWhatOverlaps) {
  // One worker: 0.2 s and 0.4 s. Four workers with the smaller batch: 0.3 s. With the larger one
  // that is 0.4 s if computing hides the rest, 0.5 s if nothing is hidden.
  const auto row = [](std::uint32_t workers, double batch, double seconds) {
    return Row{.configuration = {.workers = workers, .nodes = workers, .batch_per_worker = batch},
               .iteration_seconds = seconds};
  };
  const std::vector<Row> rows{row(1, 100, 0.2), row(1, 200, 0.4), row(4, 100, 0.3)};
  const CalibratedGroup group = calibrate(rows).groups.front();
  const Configuration at{.workers = 4, .nodes = 4, .batch_per_worker = 200};
  EXPECT_NEAR(iteration_seconds(group.cost, at), 0.5, 0.01);
  double least = 1.0;
  for (const IterationCost& other : group.others) {
    least = std::min(least, iteration_seconds(other, at));
  }
  EXPECT_NEAR(least, 0.4, 0.01);
}

TEST(Calibrate, TellsHowWellTheLargestArePredictedWithoutThem) {
  const CalibratedGroup exact = calibrate(known_rows(kKnownCost)).groups.front();
  ASSERT_TRUE(exact.held_out);
  EXPECT_LT(exact.held_out->median, 0.01);
  EXPECT_LT(exact.fit_median, 0.001);
  const CalibratedGroup noisy = calibrate(disturbed(known_rows(kKnownCost))).groups.front();
  EXPECT_GT(noisy.held_out->median, exact.held_out->median);
  EXPECT_GT(noisy.spread, exact.spread);
}

TEST(Calibrate, OfOneRowKnowsThatItKnowsLittle) {
  const std::vector<Row> rows{{.configuration = {}, .iteration_seconds = 0.1}};
  const CalibratedGroup group = calibrate(rows).groups.front();
  EXPECT_DOUBLE_EQ(group.spread, 0.2);  // The prior.
  EXPECT_FALSE(group.held_out);
}

TEST(Calibrate, KeepsPoliciesAndTopologiesApart) {
  std::vector<Row> rows = known_rows(kKnownCost);
  std::vector<Row> slower = rows;
  for (Row& row : slower) {
    row.configuration.policy = "async";
    *row.iteration_seconds *= 3.0;
  }
  const IterationCost alone = calibrate(rows).groups.front().cost;
  rows.insert(rows.begin() + 1, slower.begin(), slower.end());
  const CalibratedProfile profile = calibrate(rows);
  ASSERT_EQ(profile.groups.size(), 2U);
  EXPECT_EQ(profile.groups[0].policy, "");
  EXPECT_EQ(profile.groups[1].policy, "async");
  EXPECT_EQ(profile.groups[0].cost, alone);
}

}  // namespace
}  // namespace outpace::throughput

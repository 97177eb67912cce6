#include "throughput/found_plan.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

// Rows whose verified rates are a tenth lower than the guessed ones.
PlanChoices some_choices(std::vector<PlanRow> rows) {
  PlanChoices choices{.rows = std::move(rows), .margin = 0.1, .batch = 8.0};
  choices.verify = [rows = choices.rows](std::size_t i) {
    PlanRow row = rows.at(i);
    row.model = "fine";
    row.examples_per_second *= 0.9;
    return row;
  };
  return choices;
}

PlanRow row_with(std::uint32_t workers, double rate) {
  return {.model = "coarse",
          .policy = "sync",
          .topology = "ps",
          .workers = workers,
          .examples_per_second = rate,
          .mixed_examples = 8.0 * workers,
          .cost = static_cast<double>(workers)};
}

TEST(FoundPlan, IsTheFastestVerified) {
  const FoundPlan found =
      find_plan({}, some_choices({row_with(1, 100), row_with(2, 180), row_with(4, 240)}));
  ASSERT_FALSE(found.best.empty());
  EXPECT_EQ(found.best.front().workers, 4);
  EXPECT_EQ(found.best.front().model, "fine");
  EXPECT_DOUBLE_EQ(found.best.front().examples_per_second, 216.0);
  EXPECT_EQ(found.choices, 3);
  EXPECT_GE(found.verified, 1);
}

TEST(FoundPlan, IsTheCheapestForTheObjectiveOfCost) {
  job::PlanJob job;
  job.objective = job::Objective::kCost;
  const FoundPlan found =
      find_plan(job, some_choices({row_with(1, 100), row_with(2, 180), row_with(4, 240)}));
  EXPECT_EQ(found.best.front().workers, 1);
  EXPECT_DOUBLE_EQ(found.best.front().for_cost(), 90.0 * 3600);
}

TEST(FoundPlan, IsTheCheapestThatReachesTheTarget) {
  job::PlanJob job;
  job.target = 150.0;
  const FoundPlan found =
      find_plan(job, some_choices({row_with(1, 100), row_with(2, 180), row_with(4, 240)}));
  EXPECT_EQ(found.best.front().workers, 2);
}

TEST(FoundPlan, WeighsExamplesForGoodput) {
  job::PlanJob job;
  job.objective = job::Objective::kGoodput;
  job.noise_scale = 8.0;
  // Efficiency (8 + 8) / (8 + M): 1, 2/3 and 2/5.
  const FoundPlan found =
      find_plan(job, some_choices({row_with(1, 100), row_with(2, 180), row_with(4, 240)}));
  EXPECT_EQ(found.best.front().workers, 2);
  EXPECT_NEAR(*found.best.front().efficiency, 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(found.best.front().value(), 162.0 * 2.0 / 3.0, 1e-9);
}

TEST(FoundPlan, NamesWhatIsNearlyAsGoodAndWhatWasLeftOut) {
  PlanChoices choices = some_choices({row_with(4, 240), row_with(2, 236)});
  choices.left_out = {{"backup:cutoff=6", "cutoff is '6'"}};
  const FoundPlan found = find_plan({}, std::move(choices));
  ASSERT_TRUE(found.nearly);
  EXPECT_EQ(found.nearly->workers, 2);
  EXPECT_EQ(found.left_out, std::vector<std::string>{"cutoff is '6'"});
}

TEST(FoundPlan, TakesNoShardsUnlessNothingElseWasAskedFor) {
  PlanRow sharded = row_with(4, 500);
  sharded.shards = 2;
  sharded.cost = 5;
  const FoundPlan found =
      find_plan({}, some_choices({row_with(1, 100), row_with(4, 240), sharded}));
  EXPECT_EQ(found.best.front().shards, 0U);
  EXPECT_EQ(found.best.front().workers, 4U);
  EXPECT_EQ(found.best.back().shards, 2U);
  EXPECT_FALSE(found.best.back().can_run());
  EXPECT_EQ(found.choices, 3U);
  EXPECT_EQ(found.can_run, 2U);
  EXPECT_EQ(find_plan({}, some_choices({sharded})).best.front().shards, 2U);
}

}  // namespace
}  // namespace outpace::throughput

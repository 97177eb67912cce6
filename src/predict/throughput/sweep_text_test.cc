#include "throughput/sweep_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "throughput/known_sweep_test.h"

namespace outpace::throughput {
namespace {

TEST(SweepText, HasALineForEachClusterAndSaysWhereItIsSaturated) {
  EXPECT_EQ(sweep_table(known_sweep()),
            "policy  workers  fine ex/s        95 %  coarse  bottleneck\n"
            "sync          1        100   95 to 105     100  server link\n"
            "sync          2        196  191 to 201     196  server link\n"
            "sync          4        200  195 to 205     200  server link\n"
            "sync          8        200  195 to 205     200  server link\n"
            "ring          1          -           -      90  worker compute\n"
            "sync is saturated at 2 workers: it reaches 95 % of its maximum here, and its\n"
            "bottleneck is server link\n");
}

TEST(SweepText, HasNoColumnsOfAModelThatWasNotAsked) {
  Sweep sweep = known_sweep();
  std::erase_if(sweep.predictions,
                [](const auto& one) { return one.model == job::PredictionModel::kFine; });
  EXPECT_TRUE(sweep_table(sweep).starts_with("policy  workers  coarse ex/s  bottleneck\nsync"));
  sweep = known_sweep();
  std::erase_if(sweep.predictions,
                [](const auto& one) { return one.model == job::PredictionModel::kCoarse; });
  EXPECT_TRUE(
      sweep_table(sweep).starts_with("policy  workers  fine ex/s        95 %  bottleneck\nsync"));
}

TEST(SweepText, HasAnObjectForEachPredictionForPrograms) {
  const auto json = nlohmann::json::parse(sweep_json(known_sweep()))["predictions"];
  ASSERT_EQ(json.size(), 9);
  EXPECT_EQ(json[0]["model"], "fine");
  EXPECT_EQ(json[0]["workers"], 1);
  EXPECT_EQ(json[0]["policy"], "sync");
  EXPECT_EQ(json[0]["topology"], "ps");
  EXPECT_EQ(json[0]["shards"], 1);
  EXPECT_EQ(json[0]["examples_per_second"], 100.0);
  EXPECT_EQ(json[0]["low"], 95.0);
  EXPECT_EQ(json[0]["high"], 105.0);
  EXPECT_EQ(json[0]["bottleneck"], "server link");
  EXPECT_EQ(json[1]["model"], "coarse");
  EXPECT_TRUE(json[8]["policy"].is_null());
  EXPECT_EQ(json[8]["topology"], "ring");
}

}  // namespace
}  // namespace outpace::throughput

#include "throughput/plan_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace outpace::throughput {
namespace {

FoundPlan small_plan() {
  const PlanRow first{.model = "fine",
                      .policy = "async",
                      .topology = "ps",
                      .workers = 4,
                      .shards = 1,
                      .examples_per_second = 1584.0,
                      .low = 1500.0,
                      .high = 1600.0,
                      .mixed_examples = 32.0,
                      .cost = 6.0,
                      .bottleneck = "worker compute"};
  const PlanRow ring{.model = "coarse",
                     .topology = "ring",
                     .workers = 1,
                     .examples_per_second = 396.0,
                     .mixed_examples = 8.0,
                     .cost = 1.0,
                     .bottleneck = "link",
                     .warnings = {"more workers than were measured"}};
  return {.best = {first, ring}, .choices = 12, .verified = 3, .left_out = {"why"}};
}

TEST(PlanText, RecommendsTheFirst) {
  EXPECT_EQ(recommendation({}, small_plan()),
            "Take async on ps with 4 workers and 1 shard: 1,584 examples/s for 6.00 an hour, the "
            "most of 12 configurations. Its bottleneck is worker compute.");
  FoundPlan nearly = small_plan();
  nearly.nearly = nearly.best.back();
  EXPECT_NE(
      recommendation({}, nearly).find(" For less: ring with 1 worker has 25 % of that for 1.00."),
      std::string::npos);
}

TEST(PlanText, SaysHowATargetIsReached) {
  job::PlanJob job;
  job.target = 1550.0;
  const std::string words = recommendation(job, small_plan());
  EXPECT_NE(words.find("the cheapest that reaches 1,550/s of 12 configurations"),
            std::string::npos);
  EXPECT_NE(words.find("Its interval begins below the target."), std::string::npos);
  job.target = 3168.0;
  EXPECT_EQ(recommendation(job, small_plan()),
            "None of 12 configurations reaches 3,168/s. async on ps with 4 workers and 1 shard "
            "comes closest: 1,584 examples/s, 50 % of it, for 6.00 an hour; its bottleneck is "
            "worker compute.");
}

TEST(PlanText, SaysWhatIsBestForItsCost) {
  job::PlanJob job;
  job.objective = job::Objective::kCost;
  EXPECT_NE(recommendation(job, small_plan())
                .find("the most for the cost (950,400 for one unit) of 12 configurations"),
            std::string::npos);
}

TEST(PlanText, IsATableForPeople) {
  const std::string table = plan_table({}, small_plan());
  EXPECT_EQ(table,
            "policy  workers  examples/s     interval  cost/h  examples/cost  bottleneck\n"
            "async         4       1,584      ± 3.2 %    6.00        950,400  worker compute\n"
            "ring          1         396  coarse only    1.00      1,425,600  link\n"
            "cost/h: 1 per hour for a worker's host and 1 for a server's; 12 configurations,\n"
            "without those that another beats in both speed and cost\n"
            "ring with 1 worker: more workers than were measured\n"
            "Take async on ps with 4 workers and 1 shard: 1,584 examples/s for 6.00 an hour,\n"
            "the most of 12 configurations. Its bottleneck is worker compute.\n");
}

TEST(PlanText, SaysAWarningOnce) {
  FoundPlan found = small_plan();
  found.best = {found.best.back(), found.best.back(), found.best.front()};
  const std::string table = plan_table({}, found);
  EXPECT_NE(table.find("\n2 of these clusters: more workers than were measured\n"),
            std::string::npos)
      << table;
  EXPECT_EQ(table.find("more workers"), table.rfind("more workers"));
}

TEST(PlanText, ShowsGoodputWhereItCounts) {
  job::PlanJob job;
  job.objective = job::Objective::kGoodput;
  FoundPlan found = small_plan();
  found.best.front().efficiency = 0.5;
  const std::string table = plan_table(job, found);
  EXPECT_NE(table.find("worth  goodput/s"), std::string::npos);
  EXPECT_NE(table.find("0.50        792"), std::string::npos);
  EXPECT_NE(
      recommendation(job, found).find("a goodput of 792/s (1,584 examples/s, each worth 0.50)"),
      std::string::npos);
}

TEST(PlanText, SaysWhenItLearnsWhatARunReached) {
  job::PlanJob job;
  job.objective = job::Objective::kGoodput;
  job.noise_from = "runs/x";
  job.reached = {.what = "84.0 %", .seconds = 41, .examples = 1e4, .mixed = 32};
  FoundPlan found = small_plan();
  found.best.front().efficiency = 0.5;
  found.best.front().seconds_to_reached = 12.34;
  const std::string table = plan_table(job, found);
  EXPECT_NE(table.find("goodput/s  s to 84.0 %"), std::string::npos) << table;
  EXPECT_NE(
      recommendation(job, found).find("It should reach 84.0 % after 12.3s; runs/x took 41.0s."),
      std::string::npos)
      << recommendation(job, found);
  const auto json = nlohmann::json::parse(plan_json(job, found));
  EXPECT_EQ(json["reached"]["what"], "84.0 %");
  EXPECT_EQ(json["plan"][0]["seconds_to_reached"], 12.34);
  EXPECT_TRUE(json["plan"][1]["seconds_to_reached"].is_null());
}

TEST(PlanText, IsAnObjectForPrograms) {
  job::PlanJob job;
  job.target = 1550.0;
  const auto json = nlohmann::json::parse(plan_json(job, small_plan()));
  EXPECT_EQ(json["objective"], "rate");
  EXPECT_EQ(json["target"], 1550.0);
  EXPECT_EQ(json["target_reached"], true);
  EXPECT_EQ(json["configurations"], 12);
  EXPECT_EQ(json["verified"], 3);
  EXPECT_EQ(json["recommended"], json["plan"][0]);
  EXPECT_TRUE(json["closest"].is_null());
  EXPECT_EQ(json["plan"][0]["shards"], 1);
  EXPECT_EQ(json["plan"][0]["can_run"], true);
  EXPECT_EQ(json["plan"][0]["low"], 1500.0);
  EXPECT_TRUE(json["plan"][0]["efficiency"].is_null());
  EXPECT_TRUE(json["plan"][1]["policy"].is_null());
  EXPECT_TRUE(json["plan"][1]["shards"].is_null());
  EXPECT_EQ(json["left_out"][0], "why");
  EXPECT_EQ(json["why"], recommendation(job, small_plan()));

  job.target = 1e6;
  const auto missed = nlohmann::json::parse(plan_json(job, small_plan()));
  EXPECT_TRUE(missed["recommended"].is_null());
  EXPECT_EQ(missed["closest"], missed["plan"][0]);
}

TEST(PlanText, MarksWhatCannotBeRun) {
  FoundPlan found = small_plan();
  found.can_run = 8;
  EXPECT_NE(recommendation({}, found).find("the most of 8 configurations that train has."),
            std::string::npos);
  found.best.back() = found.best.front();
  found.best.back().shards = 2;
  const std::string table = plan_table({}, found);
  EXPECT_NE(table.find("async         4      2*       1,584"), std::string::npos);
  EXPECT_NE(table.find("\n* not in train yet: it has no shards, so this cluster cannot be run\n"),
            std::string::npos);
  found.best.erase(found.best.begin());
  EXPECT_TRUE(
      recommendation({}, found).ends_with(" train has no shards yet, so it cannot be run."));
}

}  // namespace
}  // namespace outpace::throughput

#include "throughput/plan_choices.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "throughput/even_profile_test.h"

namespace outpace::throughput {
namespace {

std::string read_nothing(const std::string& option, const std::string& path) {
  throw usage_error("--" + option + " " + path + ": no file in this test");
}

TEST(PlanChoices, AreAllCombinationsOfWorkersAndKinds) {
  const MeasuredProfile profile = even_profile();
  job::PlanJob job;
  job.workers = job::count_list("2,4");
  job.policies = {"sync,async"};
  job.topologies = {"ps", "ring"};
  job.shards = job::count_list("1,2");
  job.server_cost = 0.5;
  const PlanChoices choices = choices_of_measured(profile, job, read_nothing);
  ASSERT_EQ(choices.rows.size(), 2 * (2 * 2 + 1));
  EXPECT_EQ(choices.batch, 8.0);
  const PlanRow& first = choices.rows.front();
  EXPECT_EQ(first.model, "coarse");
  EXPECT_EQ(first.policy, "sync");
  EXPECT_EQ(first.topology, "ps");
  EXPECT_EQ(first.workers, 2);
  EXPECT_EQ(first.cost, 2 + 0.5);
  EXPECT_FALSE(first.low);
  EXPECT_EQ(choices.rows[1].cost, 2 + 2 * 0.5);
  EXPECT_EQ(choices.rows[4].topology, "ring");
  EXPECT_EQ(choices.rows[4].cost, 2.0);
}

TEST(PlanChoices, AreVerifiedByTheFineModel) {
  const MeasuredProfile profile = even_profile();
  job::PlanJob job;
  job.workers = job::count_list("2");
  job.policies = {"async"};
  const PlanChoices choices = choices_of_measured(profile, job, read_nothing);
  const PlanRow verified = choices.verify(0);
  EXPECT_EQ(verified.model, "fine");
  EXPECT_EQ(verified.workers, 2);
  EXPECT_NEAR(verified.examples_per_second, choices.rows[0].examples_per_second, 10.0);
  EXPECT_LE(*verified.low, verified.examples_per_second);
  EXPECT_GE(*verified.high, verified.examples_per_second);
  EXPECT_EQ(verified.bottleneck, "worker compute");
}

TEST(PlanChoices, SayWhatPackingCosts) {
  const MeasuredProfile profile = even_profile();
  job::PlanJob job;
  job.workers = job::count_list("2");
  job.policies = {"async"};
  EXPECT_EQ(choices_of_measured(profile, job, read_nothing).packing, "");
  job.cluster.packing.gradients = Spec::parse("int8");
  const std::string words = choices_of_measured(profile, job, read_nothing).packing;
  EXPECT_TRUE(words.starts_with("a gradient takes 25.8 % of its bytes")) << words;
}

TEST(PlanChoices, FollowTheWorkersWithAShareOfThem) {
  const MeasuredProfile profile = even_profile();
  job::PlanJob job;
  job.workers = job::count_list("10,20");
  job.policies = {"backup:cutoff=90%"};
  const PlanChoices choices = choices_of_measured(profile, job, read_nothing);
  ASSERT_EQ(choices.rows.size(), 2);
  EXPECT_EQ(choices.rows[0].policy, "backup:cutoff=9");
  EXPECT_EQ(choices.rows[1].policy, "backup:cutoff=18");
}

TEST(PlanChoices, LeaveOutWhatIsImpossibleWithSomeNumberOfWorkers) {
  const MeasuredProfile profile = even_profile();
  job::PlanJob job;
  job.workers = job::count_list("2,8");
  job.policies = {"backup:cutoff=6"};
  const PlanChoices choices = choices_of_measured(profile, job, read_nothing);
  EXPECT_EQ(choices.rows.size(), 1);
  ASSERT_EQ(choices.left_out.size(), 1);
  EXPECT_NE(choices.left_out.begin()->second.find("cutoff is '6'"), std::string::npos);

  job.workers = job::count_list("1..4");
  EXPECT_NE(refusal_of([&] {
              (void)choices_of_measured(profile, job, read_nothing);
            }).find("--policy backup:cutoff=6: "),
            std::string::npos);
}

TEST(PlanChoices, AreAHundredThousandAtMost) {
  const MeasuredProfile profile = even_profile();
  job::PlanJob job;
  job.workers = job::count_list("1..9000");
  job.shards = job::count_list("1..16");
  EXPECT_NE(refusal_of([&] {
              (void)choices_of_measured(profile, job, read_nothing);
            }).find("more than 100000 configurations"),
            std::string::npos);
}

CalibratedGroup calibrated_group(const std::string& policy, const std::string& topology) {
  return {.policy = policy,
          .topology = topology,
          .rows = 10,
          .cost = {.compute_fixed = 0.1, .across = {.fixed = 0.2}},
          .spread = 0.1,
          .seen = {.workers_min = 1,
                   .workers_max = 8,
                   .across_workers_max = 8,
                   .workers_per_node_max = 1,
                   .batch_min = 16,
                   .batch_max = 16}};
}

TEST(PlanChoices, AreTheGroupsOfACalibration) {
  const CalibratedProfile profile{
      .groups = {calibrated_group("sync", "ps"), calibrated_group("", "ring")}};
  job::PlanJob job;
  job.workers = job::count_list("1,8");
  const PlanChoices all = choices_of_calibrated(profile, job);
  ASSERT_EQ(all.rows.size(), 4);
  EXPECT_EQ(all.rows[0].model, "calibrated");
  EXPECT_NEAR(all.rows[0].examples_per_second, 16 / 0.1, 1e-9);
  EXPECT_NEAR(all.rows[1].examples_per_second, 8 * 16 / 0.3, 1e-9);
  EXPECT_EQ(all.rows[1].bottleneck, "sync");
  EXPECT_EQ(all.rows[1].cost, 8 + 1);
  EXPECT_EQ(all.rows[3].cost, 8.0) << "a ring has no server";
  EXPECT_EQ(all.rows[1].mixed_examples, 8 * 16);
  EXPECT_EQ(all.verify(1).examples_per_second, all.rows[1].examples_per_second);

  job.topologies = {"ring"};
  EXPECT_EQ(choices_of_calibrated(profile, job).rows.size(), 2);
}

TEST(PlanChoices, CountGradientsInFlightWhereNobodyIsInARound) {
  const CalibratedProfile profile{
      .groups = {calibrated_group("kasync:k=2", "ps"), calibrated_group("ksync:k=2", "ps")}};
  job::PlanJob job;
  job.workers = job::count_list("8");
  const PlanChoices all = choices_of_calibrated(profile, job);
  ASSERT_EQ(all.rows.size(), 2);
  EXPECT_EQ(all.rows[0].mixed_examples, 8 * 16);
  EXPECT_EQ(all.rows[1].mixed_examples, 2 * 16);
}

TEST(PlanChoices, LeaveOutWhatWasNotCalibrated) {
  const CalibratedProfile profile{.groups = {calibrated_group("sync", "ps")}};
  job::PlanJob job;
  job.workers = job::count_list("1,8");
  job.policies = {"sync,async"};
  const PlanChoices some = choices_of_calibrated(profile, job);
  EXPECT_EQ(some.rows.size(), 2);
  EXPECT_EQ(some.left_out.at("async"), "'async' was not calibrated");
  job.policies = {"async"};
  EXPECT_EQ(refusal_of([&] { (void)choices_of_calibrated(profile, job); }),
            "nothing to choose from: 'async' was not calibrated");
}

}  // namespace
}  // namespace outpace::throughput

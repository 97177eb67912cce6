#include "throughput/sweep.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "throughput/even_profile_test.h"

namespace outpace::throughput {
namespace {

Sweep sweep_of(const job::PredictJob& job) {
  const MeasuredProfile profile = even_profile();
  return predict_clusters(profile, job, [](const std::string& option, const std::string& path) {
    throw usage_error("--" + option + " " + path + ": no file in this test");
    return std::string();
  });
}

job::PredictJob small_job(const std::string& workers) {
  job::PredictJob job;
  job.workers = job::count_list(workers);
  return job;
}

TEST(Sweep, PredictsEachKindWithEachNumberOfWorkersByEachModel) {
  job::PredictJob job = small_job("1,2");
  job.topologies = {"ps", "ring"};
  job.shards = job::count_list("1,2");
  const Sweep sweep = sweep_of(job);
  // Two policies with two numbers of shards each, and the ring.
  ASSERT_EQ(sweep.predictions.size(), 2 * (2 * 2 + 1) * 2);
  EXPECT_EQ(sweep.predictions[0].model, job::PredictionModel::kFine);
  EXPECT_EQ(sweep.predictions[0].policy, "sync");
  EXPECT_EQ(sweep.predictions[1].model, job::PredictionModel::kCoarse);
  EXPECT_EQ(sweep.predictions[2].shards, 2);
  EXPECT_EQ(sweep.predictions[8].topology, Topology::kRing);
  EXPECT_EQ(sweep.predictions[8].shards, 1);
  EXPECT_EQ(sweep.predictions[10].workers, 2);
  for (const ClusterPrediction& one : sweep.predictions) {
    EXPECT_NEAR(one.rate.examples_per_second, one.workers * 8 / 0.0203, 20.0);
    EXPECT_LE(one.rate.low, one.rate.examples_per_second);
    EXPECT_GE(one.rate.high, one.rate.examples_per_second);
  }
  ASSERT_EQ(sweep.ideal.size(), 2);
  EXPECT_EQ(sweep.ideal[1].workers, 2);
  EXPECT_NEAR(sweep.ideal[1].examples_per_second, 2 * 8 / 0.02, 1e-6);
}

TEST(Sweep, LeavesOutAPolicyWhereThereAreTooFewWorkers) {
  job::PredictJob job = small_job("2,8");
  job.policies = {"backup:cutoff=6"};
  job.models = {job::PredictionModel::kCoarse};
  const Sweep sweep = sweep_of(job);
  ASSERT_EQ(sweep.predictions.size(), 1);
  EXPECT_EQ(sweep.predictions[0].workers, 8);
  EXPECT_TRUE(sweep.left_out.contains("backup:cutoff=6"));
  job.workers = job::count_list("2");
  EXPECT_NE(refusal_of([&] { (void)sweep_of(job); }).find("--policy backup:cutoff=6: "),
            std::string::npos);
}

ClusterPrediction coarse_of(std::uint32_t workers, double rate, const std::string& policy) {
  return {.model = job::PredictionModel::kCoarse,
          .workers = workers,
          .policy = policy,
          .topology = Topology::kServer,
          .shards = 1,
          .rate = {rate, rate, rate},
          .bottleneck = Bottleneck::kLink};
}

TEST(Sweep, GroupsByKindAndModelInTheOrderOfTheWorkers) {
  const std::vector<ClusterPrediction> predictions{
      coarse_of(4, 400, "sync"), coarse_of(4, 300, "async"), coarse_of(1, 100, "sync")};
  const auto groups = by_kind_and_model(predictions);
  ASSERT_EQ(groups.size(), 2);
  ASSERT_EQ(groups[0].size(), 2);
  EXPECT_EQ(groups[0][0]->workers, 1);
  EXPECT_EQ(groups[0][1]->workers, 4);
  EXPECT_EQ(groups[1][0]->policy, "async");
}

TEST(Sweep, IsSaturatedWhereMoreWorkersGainNothing) {
  const std::vector<ClusterPrediction> predictions{coarse_of(1, 100, "sync"),
                                                   coarse_of(2, 196, "sync"),
                                                   coarse_of(4, 200, "sync"),
                                                   coarse_of(8, 200, "sync")};
  const auto groups = by_kind_and_model(predictions);
  EXPECT_EQ(saturated(groups[0]), 1);
  const std::vector<ClusterPrediction> growing{coarse_of(1, 100, "sync"),
                                               coarse_of(2, 200, "sync")};
  EXPECT_EQ(saturated(by_kind_and_model(growing)[0]), std::nullopt);
}

TEST(Sweep, NamesAKindByPolicyOrTopologyAndShards) {
  ClusterPrediction one = coarse_of(1, 100, "async");
  EXPECT_EQ(kind_name(one), "async");
  one.shards = 4;
  EXPECT_EQ(kind_name(one), "async, 4 shards");
  one.policy = "";
  one.topology = Topology::kGossip;
  one.shards = 1;
  EXPECT_EQ(kind_name(one), "gossip");
}

}  // namespace
}  // namespace outpace::throughput

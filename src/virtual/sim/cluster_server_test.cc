// A simulated server that dies: the run goes on from its checkpoint, and loses no example.

#include <gtest/gtest.h>

#include "sim/cluster_run_test.h"
#include "worker/ledger.h"

namespace outpace::sim {
namespace {

constexpr std::uint64_t kInLedger = 64;

ClusterResult run_with(const std::string& policy, const std::vector<std::string>& faults) {
  ClusterOptions options{.policy = Spec::parse(policy),
                         .coordinator = {.workers = 3,
                                         .batch = 2,
                                         .examples = kInLedger,
                                         .limits = {.epochs = 8},
                                         .rate = 2.0 * (policy == "sync" ? 3 : 1),
                                         .rate_scale = update::RateScale::kLinear,
                                         .checkpoint_every = {.updates = 10}},
                         .shard = {.optimizer = Spec::parse("sgd")},
                         .target = {},
                         .latency = std::chrono::milliseconds(1)};
  for (const std::string& fault : faults) {
    options.faults.push_back(parse_fault(fault, 3));
  }
  DrawnTiming timing(
      Runtimes::parse("exponential(mean=100ms)", {.workers = 3, .seed = 1, .read_file = {}}), {});
  worker::Ledger ledger(kInLedger);
  Learning learning{ledger};
  Cluster cluster(options, timing, &learning, nullptr, nullptr);
  return cluster.run();
}

void expect_exact(const ClusterResult& result) {
  EXPECT_EQ(result.why, "epochs done");
  EXPECT_EQ(result.statistics.epochs_complete, 8U);
  EXPECT_EQ(result.statistics.examples_applied, 8 * kInLedger);
  for (const float weight : result.weights) {
    EXPECT_EQ(weight, -8.0F);
  }
}

TEST(ClusterServer, GoesOnFromItsCheckpointUnderAnyPolicy) {
  for (const std::string policy : {"sync", "async", "ssp:s=2", "saps:s=6,action=refresh"}) {
    SCOPED_TRACE(policy);
    const ClusterResult result =
        run_with(policy, {"server:at=2s,for=1s", "server:at=5s,for=100ms", "crash:worker=1,at=4s"});
    EXPECT_EQ(result.faults.servers, 2U);
    expect_exact(result);
  }
}

TEST(ClusterServer, BeginsAnewWhereItHadNotBegun) {
  const ClusterResult result = run_with("async", {"server:at=0s,for=1s"});
  EXPECT_EQ(result.faults.servers, 1U);
  expect_exact(result);
}

TEST(ClusterServer, DiesOnceIfItIsNotThere) {
  const ClusterResult result = run_with("async", {"server:at=2s,for=2s", "server:at=3s,for=5s"});
  EXPECT_EQ(result.faults.servers, 1U);
  expect_exact(result);
}

}  // namespace
}  // namespace outpace::sim

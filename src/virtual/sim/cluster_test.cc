#include "sim/cluster.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "sim/cluster_run_test.h"
#include "worker/ledger.h"

namespace outpace::sim {
namespace {

double mean_staleness(const server::Statistics& statistics) {
  double sum = 0.0;
  for (std::size_t tau = 0; tau < statistics.staleness.size(); ++tau) {
    sum += double(tau) * double(statistics.staleness[tau]);
  }
  return sum / double(statistics.gradients_applied);
}

constexpr const char* kPolicies[] = {"sync",
                                     "backup:cutoff=6",
                                     "async",
                                     "softsync:n=2",
                                     "ksync:k=5",
                                     "kbatchsync:k=6",
                                     "kasync:k=4",
                                     "kbatchasync:k=5",
                                     "adasync:k=3",
                                     "ssp:s=3",
                                     "dssp:low=1,high=4",
                                     "psp:beta=2,s=1",
                                     "saps:s=12,action=refresh",
                                     "saps:s=12,action=preempt",
                                     "saps:s=12,action=shrink",
                                     "saps:s=12,action=dampen"};

TEST(Cluster, IsAFunctionOfItsOptions) {
  for (const char* policy : kPolicies) {
    const Job job{.policy = policy, .latency = std::chrono::milliseconds(3)};
    const ClusterResult once = run(job);
    const ClusterResult again = run(job);
    EXPECT_EQ(once.hash, again.hash) << policy;
    EXPECT_EQ(once.events, again.events) << policy;
    EXPECT_EQ(once.ended, again.ended) << policy;
    Job other = job;
    other.seed = 2;
    EXPECT_NE(run(other).hash, once.hash) << policy;
  }
}

// A faster simulator must still make the same run. After a change that alters a run on purpose,
// write these hashes anew.
TEST(Cluster, IsTheRunThatItWas) {
  const std::map<std::string, std::uint64_t> hashes{
      {"async", 0x1c010f8576f366bbU},
      {"backup:cutoff=6", 0x427aa0ac5d65d01eU},
      {"saps:s=12,action=preempt", 0xa45d9d317441f9e8U},
      {"ssp:s=3", 0x853304013336a677U}};
  for (const auto& [policy, hash] : hashes) {
    const Job job{.policy = policy, .runtime = "5*constant(100ms),3*constant(230ms)"};
    EXPECT_EQ(run(job).hash, hash) << policy;
  }
}

TEST(Cluster, TakesOneEventForAGradientWithoutANetwork) {
  const ClusterResult found = run({.policy = "async", .workers = 8, .limits = {.updates = 1000}});
  EXPECT_EQ(found.events, 8U + 1000U);  // Eight joined.
}

// Any sample mean is further off with a probability below one in a million.
constexpr double kFiveDeviations = 5.0;

TEST(Cluster, WaitsForAllAsLongAsTheMaximumOfExponentialRuntimes) {
  // E max = H_P / mu, Var max = sum of 1 / (k mu)^2 (Dutta et al., "Slow and stale gradients can
  // win the race", AISTATS 2018, for K-sync: (H_P - H_(P-K)) / mu; as long for K-async, because
  // what is left of an exponential runtime is as long as a new one).
  for (const auto& [policy, cutoff] : std::map<std::string, int>{{"sync", 8},
                                                                 {"backup:cutoff=6", 6},
                                                                 {"ksync:k=1", 1},
                                                                 {"kasync:k=6", 6},
                                                                 {"kasync:k=8", 8}}) {
    constexpr int kWorkers = 8;
    constexpr double kMean = 0.1;
    constexpr std::uint64_t kUpdates = 20'000;
    double mean = 0.0;
    double variance = 0.0;
    for (int k = kWorkers - cutoff + 1; k <= kWorkers; ++k) {
      mean += kMean / k;
      variance += kMean * kMean / (double(k) * k);
    }
    const ClusterResult found =
        run({.policy = policy, .workers = kWorkers, .limits = {.updates = kUpdates}});
    const double measured = to_seconds(found.statistics.last_commit) / double(kUpdates);
    EXPECT_NEAR(measured, mean, kFiveDeviations * std::sqrt(variance / double(kUpdates))) << policy;
  }
}

TEST(Cluster, TakesTheNextOfAllWorkersUnderBatchPolicies) {
  // K / (P mu) an update with exponential runtimes of rate mu, the sum of K waits for the next of P
  // (the same paper, for K-batch-sync; K-batch-async's K E[X] / P is for any distribution).
  for (const std::string policy : {"kbatchsync:k=6", "kbatchasync:k=6"}) {
    constexpr double kNext = 0.1 / 8;
    constexpr double kUpdates = 4'000;
    const Job job{.policy = policy, .limits = {.updates = static_cast<std::uint64_t>(kUpdates)}};
    const double measured = to_seconds(run(job).statistics.last_commit) / kUpdates;
    EXPECT_NEAR(measured, 6 * kNext, kFiveDeviations * kNext * std::sqrt(6.0 / kUpdates)) << policy;
  }
}

TEST(Cluster, NeverWaitsUnderAsync) {
  // A worker's runs make a renewal process: P / E[X] gradients a second, and over n gradients the
  // time varies as the mean of n runtimes does.
  constexpr std::uint64_t kGradients = 20'000;
  const ClusterResult found = run({.policy = "async", .limits = {.updates = kGradients}});
  const double measured = to_seconds(found.statistics.last_commit) / double(kGradients);
  EXPECT_NEAR(measured, 0.1 / 8, kFiveDeviations * 0.1 / 8 / std::sqrt(double(kGradients)));
}

TEST(Cluster, HasTheMeanStalenessOfSoftsync) {
  // (lambda - 1) / c for any runtimes, but for what the gradients under way at the end have seen of
  // others: of exponential runtimes lambda - 1 gradients each on average, and as much deviation.
  constexpr double kLambda = 30;
  constexpr double kUnderWay =
      (kLambda - 1) * kLambda + kFiveDeviations * (kLambda - 1) * 5.5;  // 5.5 > sqrt(lambda)
  for (const std::string runtime : {"exponential(mean=100ms)", "constant(mean=100ms)"}) {
    for (const std::uint32_t n : {1U, 4U, 15U, 30U}) {
      const std::uint64_t gradients_per_update = 30 / n;
      const ClusterResult found = run({.policy = "softsync:n=" + std::to_string(n),
                                       .runtime = runtime,
                                       .workers = 30,
                                       .limits = {.updates = 60'000 / gradients_per_update}});
      EXPECT_NEAR(mean_staleness(found.statistics) * double(gradients_per_update),
                  kLambda - 1,
                  kUnderWay / double(found.statistics.gradients_applied))
          << runtime << ", n = " << n;
    }
  }
}

TEST(Cluster, AddsTheLatencyOfBothWays) {
  const ClusterResult found = run({.policy = "sync",
                                   .runtime = "constant(mean=100ms)",
                                   .limits = {.updates = 100},
                                   .latency = std::chrono::milliseconds(7)});
  // The last update is committed when its gradients are there, half a round trip early.
  EXPECT_EQ(found.statistics.last_commit, Time{std::chrono::milliseconds(100 * 114)});
}

TEST(Cluster, LetsGradientsQueueBeforeASlowServer) {
  const ClusterResult found = run({.policy = "async",
                                   .runtime = "constant(mean=1ms)",
                                   .limits = {.updates = 1000},
                                   .apply = std::chrono::milliseconds(2)});
  EXPECT_EQ(found.statistics.last_commit, Time{std::chrono::milliseconds(1 + 2 * 1000)});
}

TEST(Cluster, UsesEachExampleOfAnEpochOnceUnderEveryPolicy) {
  for (const char* policy : kPolicies) {
    worker::Ledger ledger(256);
    const ClusterResult found = run({.policy = policy,
                                     .runtime = "7*exponential(mean=10ms),1*constant(mean=500ms)",
                                     .examples = 256,
                                     .limits = {.epochs = 3},
                                     .latency = std::chrono::microseconds(500),
                                     .gradients = &ledger});
    EXPECT_EQ(found.why, "epochs done") << policy;
    EXPECT_EQ(found.statistics.examples_applied, 3U * 256U) << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_min, 1U) << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_max, 1U) << policy;
    const bool weighs = std::string(policy).find("action=") != std::string::npos &&
                        std::string(policy).find("refresh") == std::string::npos;
    for (std::size_t example = 0; example < 256 && !weighs; ++example) {
      ASSERT_EQ(found.weights[example], -3.0F) << policy << ", example " << example;
    }
  }
}

TEST(Cluster, SurvivesHalfOfItsWorkersUnderEveryPolicy) {
  for (const char* policy : kPolicies) {
    worker::Ledger ledger(256);
    const ClusterResult found = run({.policy = policy,
                                     .runtime = "exponential(mean=10ms)",
                                     .examples = 256,
                                     .limits = {.epochs = 6},
                                     .latency = std::chrono::microseconds(500),
                                     .faults = {"crash:worker=1,at=50ms",
                                                "crash:worker=3,at=80ms,for=100ms",
                                                "leave:worker=5,at=110ms",
                                                "crash:worker=7,at=140ms,for=1ms"},
                                     .gradients = &ledger});
    EXPECT_EQ(found.why, "epochs done") << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_min, 1U) << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_max, 1U) << policy;
    EXPECT_EQ(found.statistics.workers[1].incarnations, 1U) << policy;
    EXPECT_EQ(found.statistics.workers[7].incarnations, 2U) << policy;
    const bool weighs = std::string(policy).find("action=") != std::string::npos &&
                        std::string(policy).find("refresh") == std::string::npos;
    for (std::size_t example = 0; example < 256 && !weighs; ++example) {
      ASSERT_EQ(found.weights[example], -6.0F) << policy << ", example " << example;
    }
  }
}

TEST(Cluster, EndsWhenTheLastWorkerIsGoneForGood) {
  const ClusterResult found = run({.policy = "async",
                                   .workers = 2,
                                   .limits = {.updates = 1'000'000},
                                   .faults = {"crash:worker=0,at=1s", "leave:worker=1,at=2s"}});
  EXPECT_EQ(found.code, ExitCode::kTooFewWorkers);
  EXPECT_EQ(found.ended, Time{std::chrono::seconds(2)});
}

TEST(Cluster, EndsAtTheLimitOfTime) {
  const ClusterResult found =
      run({.policy = "sync",
           .runtime = "constant(mean=1s)",
           .limits = {.updates = 0, .seconds = std::chrono::milliseconds(10'500)}});
  EXPECT_EQ(found.why, "time is up");
  EXPECT_EQ(found.statistics.updates, 10U);
  EXPECT_EQ(found.ended, Time{std::chrono::milliseconds(10'500)});
}

}  // namespace
}  // namespace outpace::sim

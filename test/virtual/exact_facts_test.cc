#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "virtual_cluster.h"

namespace outpace::server {
namespace {

const std::vector<std::string> kPolicies{"sync",
                                         "backup:cutoff=3",
                                         "async",
                                         "softsync:n=2",
                                         "ssp:s=2",
                                         "saps:s=12,action=refresh",
                                         "saps:s=12,action=preempt",
                                         "saps:s=12,action=shrink",
                                         "saps:s=12,action=dampen"};

void expect_each_example_used(const VirtualCluster& cluster, float times) {
  const std::vector<float> ledger = cluster.ledger();
  for (std::size_t example = 0; example < ledger.size(); ++example) {
    ASSERT_EQ(ledger[example], times) << "example " << example;
  }
}

TEST(VirtualCluster, UsesEveryExampleExactlyOnceAnEpochUnderEveryPolicy) {
  for (const std::string& policy : kPolicies) {
    SCOPED_TRACE(policy);
    // Weights by examples and partial mini-batches make shares of one; those have their own test.
    if (policy.find("preempt") != std::string::npos || policy.find("shrink") != std::string::npos ||
        policy.find("dampen") != std::string::npos) {
      continue;
    }
    VirtualCluster cluster({.policy = policy, .limits = {.epochs = 3}});
    cluster.start();
    ASSERT_TRUE(cluster.run());
    expect_each_example_used(cluster, 3.0F);
    EXPECT_EQ(cluster.statistics().epochs_complete, 3U);
    EXPECT_EQ(cluster.statistics().examples_used_per_epoch_min, 1U);
    EXPECT_EQ(cluster.statistics().examples_used_per_epoch_max, 1U);
    EXPECT_EQ(cluster.finish()->code, ExitCode::kDone);
  }
}

// Deaths, returns, repeated pushes, late messages of the dead, refusals, latency: by seed.
TEST(VirtualCluster, AppliesNoGradientTwiceAndLosesNoExampleWhateverHappens) {
  for (const std::string& policy : kPolicies) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(policy + " seed=" + std::to_string(seed));
      VirtualCluster cluster({.policy = policy,
                              .workers = 4,
                              .limits = {.epochs = 4},
                              .seed = seed,
                              .latency = from_seconds(0.01),
                              .repeated_push = 0.3,
                              .not_finite = 0.05,
                              .delivered_after_death = 0.5});
      cluster.start();
      for (std::uint32_t worker = 1; worker < 4; ++worker) {
        for (int time = 0; time < 3; ++time) {
          const Duration when = from_seconds(cluster.rng().uniform() * 0.6);
          cluster.kill(worker, when);
          cluster.join(worker, when + from_seconds(cluster.rng().uniform() * 0.2));
        }
      }
      ASSERT_TRUE(cluster.run()) << "nothing left to happen before the end";
      ASSERT_TRUE(cluster.finish().has_value());
      EXPECT_EQ(cluster.statistics().epochs_complete, 4U);
      EXPECT_EQ(cluster.statistics().examples_used_per_epoch_max, 1U);
      const std::uint64_t left_out = cluster.statistics().examples_left_out;  // By bad luck.
      EXPECT_EQ(cluster.statistics().examples_applied + left_out, 4U * 64U);
      EXPECT_LE(left_out, 8U);
      const bool whole = policy.find("saps") == std::string::npos && left_out == 0;
      if (whole) {
        expect_each_example_used(cluster, 4.0F);
      }
    }
  }
}

TEST(VirtualCluster, FinishesWhenAllButOneWorkerDieForGood) {
  for (const std::string& policy : kPolicies) {
    SCOPED_TRACE(policy);
    VirtualCluster cluster({.policy = policy, .limits = {.epochs = 4}});
    cluster.start();
    cluster.kill(1, from_seconds(0.03));
    cluster.kill(2, from_seconds(0.05));
    cluster.kill(3, from_seconds(0.07));
    ASSERT_TRUE(cluster.run());
    EXPECT_EQ(cluster.statistics().examples_applied, 4U * 64U);
  }
}

TEST(VirtualCluster, AnswersARepeatedPushWithItsFirstVerdict) {
  VirtualCluster cluster(
      {.policy = "async", .workers = 1, .limits = {.epochs = 1}, .repeated_push = 1.0});
  cluster.start();
  ASSERT_TRUE(cluster.run());
  expect_each_example_used(cluster, 1.0F);
  // Sixteen gradients; the repetition of the last one comes after the end.
  EXPECT_EQ(cluster.statistics().gradients_applied, 16U);
  EXPECT_EQ(cluster.verdicts(protocol::Outcome::kAccepted), 31U);
}

TEST(VirtualCluster, RefusesAGradientThatIsNotFiniteWholeAndCountsIt) {
  VirtualCluster cluster({.policy = "sync", .limits = {.epochs = 3}, .seed = 5, .not_finite = 0.2});
  cluster.start();
  ASSERT_TRUE(cluster.run());
  EXPECT_GT(cluster.statistics().gradients_refused, 0U);
  EXPECT_EQ(cluster.statistics().gradients_refused, cluster.verdicts(protocol::Outcome::kRefused));
  expect_each_example_used(cluster, 3.0F);
}

TEST(VirtualCluster, EndsARunInWhichNoGradientIsFinite) {
  VirtualCluster cluster({.policy = "sync", .limits = {.epochs = 3}, .not_finite = 1.0});
  cluster.start();
  ASSERT_TRUE(cluster.run());
  EXPECT_EQ(cluster.finish()->code, ExitCode::kFailure);
  EXPECT_NE(cluster.finish()->why.find("diverged"), std::string::npos);
}

TEST(VirtualCluster, WarnsOfAStarvedWorker) {
  VirtualCluster cluster({.policy = "saps:s=6,action=refresh",
                          .workers = 8,
                          .examples = 4096,
                          .limits = {.epochs = 2},
                          .runtime = [](WorkerId worker, Rng& rng) {
                            const double base = 0.02 * (0.95 + 0.1 * rng.uniform());
                            return index(worker) == 7 ? 50 * base : base;
                          }});
  cluster.start();
  ASSERT_TRUE(cluster.run());
  const std::vector<WorkerStatistics>& workers = cluster.statistics().workers;
  EXPECT_GT(workers[7].starved, 0U);
  EXPECT_LE(cluster.statistics().staleness.size(), 7U) << "something with tau > s was applied";
}

TEST(VirtualCluster, SamplesWithReplacementWhenAsked) {
  VirtualCluster cluster({.policy = "sync", .limits = {.epochs = 8}, .with_replacement = true});
  cluster.start();
  ASSERT_TRUE(cluster.run());
  float total = 0;
  float most = 0;
  for (const float uses : cluster.ledger()) {
    total += uses;
    most = std::max(most, uses);
  }
  EXPECT_EQ(total, 8.0F * 64.0F);
  EXPECT_GT(most, 8.0F) << "as even as without replacement: that would be a wonder";
}

// Zhang et al. (2016), section 2: mean staleness is (lambda - 1) / c, whatever the runtimes.
TEST(VirtualCluster, KeepsTheMeanStalenessOfSoftsyncAtLambdaMinusOneOverC) {
  for (const std::uint32_t splitting : {1U, 4U, 15U, 30U}) {
    for (const bool slow : {false, true}) {
      VirtualCluster cluster({.policy = "softsync:n=" + std::to_string(splitting),
                              .workers = 30,
                              .batch = 1,
                              .examples = 64,
                              .limits = {.iterations = 30'000},
                              .runtime = [slow](WorkerId worker, Rng& rng) {
                                const double factor = slow && index(worker) == 29 ? 4.0 : 1.0;
                                return factor * 0.02 * std::exp(0.2 * rng.normal());
                              }});
      cluster.start();
      ASSERT_TRUE(cluster.run());
      const Statistics& statistics = cluster.statistics();
      double sum = 0.0;
      for (std::size_t tau = 0; tau < statistics.staleness.size(); ++tau) {
        sum += static_cast<double>(tau * statistics.staleness[tau]);
      }
      const double mean = sum / static_cast<double>(statistics.gradients_applied);
      const double c = std::floor(30.0 / splitting);
      EXPECT_NEAR(mean, 29.0 / c, 900.0 / 30'000) << "n=" << splitting << " slow=" << slow;
    }
  }
}

}  // namespace
}  // namespace outpace::server

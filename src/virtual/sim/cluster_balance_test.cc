// A whole cluster with balanced mini-batches: its speed, its examples and its weights.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/cluster_run_test.h"
#include "worker/ledger.h"

namespace outpace::sim {
namespace {

// Two of eight workers take four times as long.
constexpr const char* kTwoSlow = "6*constant(mean=100ms),2*constant(mean=400ms)";

double examples_per_second(const ClusterResult& found) {
  return double(found.statistics.examples_applied) / to_seconds(found.statistics.last_commit);
}

TEST(ClusterBalance, IsAsFastAsAllWorkersTogether) {
  // Synchronously 8 b examples in 400 ms; balanced, all compute all the time: 6 b in 100 ms and
  // 2 b in 400 ms, together 65 b a second, but for whole examples and the first three updates.
  Job job{.policy = "sync", .runtime = kTwoSlow, .batch = 256, .limits = {.updates = 1000}};
  EXPECT_NEAR(examples_per_second(run(job)), 20.0 * 256, 1e-6);
  job.balance.emplace();
  const double balanced = examples_per_second(run(job));
  EXPECT_LT(balanced, 65.0 * 256);
  EXPECT_GT(balanced, 0.98 * 65.0 * 256);
}

TEST(ClusterBalance, EvensTheStalenessOfAsync) {
  Job job{.policy = "async", .runtime = kTwoSlow, .batch = 64, .limits = {.updates = 4000}};
  const auto stalest = [](const ClusterResult& found) { return found.statistics.staleness.size(); };
  const std::size_t before = stalest(run(job)) - 1;
  EXPECT_GE(before, 24U) << "six others make four updates each while a slow one makes one";
  job.balance.emplace();
  const ClusterResult found = run(job);
  double fresh = 0.0;
  for (std::size_t tau = 0; tau <= 10; ++tau) {
    fresh += double(found.statistics.staleness[tau]);
  }
  EXPECT_GT(fresh / 4000.0, 0.98) << "all take turns: about seven";
}

TEST(ClusterBalance, UsesEachExampleOfAnEpochOnceUnderEveryPolicy) {
  for (const char* policy : {"sync",
                             "backup:cutoff=6",
                             "dynamic",
                             "async",
                             "softsync:n=2",
                             "kbatchsync:k=6",
                             "kasync:k=4",
                             "adasync:k=3",
                             "ssp:s=3",
                             "psp:beta=2,s=1",
                             "saps:s=12,action=refresh",
                             "saps:s=12,action=preempt",
                             "saps:s=12,action=shrink",
                             "saps:s=12,action=dampen"}) {
    worker::Ledger ledger(256);
    const ClusterResult found = run({.policy = policy,
                                     .runtime = "7*exponential(mean=10ms),1*constant(mean=500ms)",
                                     .examples = 256,
                                     .limits = {.epochs = 6},
                                     .latency = std::chrono::microseconds(500),
                                     .faults = {"crash:worker=1,at=50ms",
                                                "crash:worker=3,at=80ms,for=100ms",
                                                "leave:worker=5,at=110ms"},
                                     .gradients = &ledger,
                                     .balance = policy::BalanceOptions{}});
    EXPECT_EQ(found.why, "epochs done") << policy;
    EXPECT_EQ(found.statistics.examples_applied, 6U * 256U) << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_min, 1U) << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_max, 1U) << policy;
  }
}

// Pulls every number towards the mean of the mini-batch's examples: a gradient that depends on the
// weights and on who is in the mini-batch.
class Pull final : public worker::GradientSource {
 public:
  static constexpr std::uint64_t kExamples = 100;

  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return kExamples; }
  [[nodiscard]] std::vector<float> initial_weights() const override { return {1.0F, -2.0F, 3.0F}; }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    double mean = 0.0;
    for (const std::uint64_t example : examples) {
      mean += std::sin(double(example)) / double(examples.size());
    }
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = weights[i] - float(double(i + 1) * mean);
    }
    return 0.0;
  }

 private:
  protocol::Manifest manifest_{{{.name = "numbers", .shape = {3}}}};
};

ClusterResult pulled(std::uint32_t workers, std::uint32_t batch, bool balance) {
  ClusterOptions options{.policy = Spec::parse("sync"),
                         .coordinator = {.workers = workers,
                                         .batch = batch,
                                         .examples = Pull::kExamples,
                                         .limits = {.updates = 200},
                                         .rate = 0.3},
                         .shard = {.optimizer = Spec::parse("sgd")},
                         .target = {}};
  if (balance) {
    options.policy_inputs.balance.emplace();
  }
  const std::string runtime =
      workers == 1 ? "constant(mean=1s)" : "3*constant(mean=1s),1*constant(mean=4s)";
  DrawnTiming timing(Runtimes::parse(runtime, {.workers = workers, .seed = 1, .read_file = {}}),
                     {});
  Pull pull;
  Learning learning{pull};
  return Cluster(options, timing, &learning, nullptr, nullptr).run();
}

TEST(ClusterBalance, OfSyncMakesTheUpdatesOfOneProcess) {
  // Each update is the next 64 examples of the order, however they are divided among workers.
  // Leases go out in worker order at the commit.
  const ClusterResult one = pulled(1, 64, false);
  const ClusterResult four = pulled(4, 16, true);
  EXPECT_EQ(four.statistics.examples_applied, one.statistics.examples_applied);
  const auto& workers = four.statistics.workers;
  EXPECT_NEAR(double(workers[0].examples_applied) / double(workers[3].examples_applied), 4.0, 0.2);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(four.weights[i], one.weights[i], 2e-6F * std::abs(one.weights[i]) + 2e-6F) << i;
  }
}

}  // namespace
}  // namespace outpace::sim

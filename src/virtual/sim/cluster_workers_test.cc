#include <numeric>

#include <gtest/gtest.h>

#include "sim/cluster_run_test.h"
#include "worker/ledger.h"

namespace outpace::sim {
namespace {

// The ledger, with a memory of the weights that each gradient was computed on.
class Ledger final : public worker::GradientSource {
 public:
  explicit Ledger(std::uint64_t examples) : counts_(examples) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return counts_.manifest(); }
  [[nodiscard]] std::uint64_t dataset_examples() const override {
    return counts_.dataset_examples();
  }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return counts_.initial_weights();
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    sums_.push_back(std::accumulate(weights.begin(), weights.end(), 0.0));
    return counts_.compute(weights, examples, gradient, cancelled);
  }
  // The sums of those weights: minus the examples applied by then.
  [[nodiscard]] const std::vector<double>& sums() const { return sums_; }

 private:
  worker::Ledger counts_;
  std::vector<double> sums_;
};

TEST(ClusterWorkers, StretchesWhatASlowWorkerBegins) {
  // Mini-batches of 100 ms, but for those begun from 250 ms to 450 ms: the one begun at 300 ms
  // takes 300 ms. Done at 100, 200, 300, 600, 700 ms.
  const ClusterResult found = run({.policy = "async",
                                   .runtime = "constant(mean=100ms)",
                                   .workers = 1,
                                   .limits = {.updates = 5},
                                   .faults = {"slow:worker=0,at=250ms,for=200ms,factor=3"}});
  EXPECT_EQ(found.statistics.last_commit, Time{std::chrono::milliseconds(700)});
}

TEST(ClusterWorkers, ComputesOnTheWeightsOfTheVersionThatWasHandedOut) {
  // One worker of constant runtime: gradient i is computed when i mini-batches are applied.
  Ledger ledger(64);
  (void)run({.policy = "async",
             .runtime = "constant(mean=100ms)",
             .workers = 1,
             .limits = {.updates = 10},
             .gradients = &ledger});
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(ledger.sums()[i], -4.0 * double(i));
  }
  // Two that take turns, under async: each misses what the other did meanwhile.
  Ledger both(64);
  (void)run({.policy = "async",
             .runtime = "1*constant(mean=100ms),1*constant(mean=150ms)",
             .workers = 2,
             .limits = {.updates = 3},
             .gradients = &both});
  // Done at 100 (by 0, on version 0), 150 (by 1, on 0), 200 (by 0, on 1).
  EXPECT_EQ(both.sums()[0], 0.0);
  EXPECT_EQ(both.sums()[1], 0.0);
  EXPECT_EQ(both.sums()[2], -4.0);
}

}  // namespace
}  // namespace outpace::sim

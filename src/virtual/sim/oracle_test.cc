#include "sim/oracle.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sim/cluster_run_test.h"

namespace outpace::sim {
namespace {

constexpr std::uint32_t kEight = 8;

double gradients_per_second(const Job& job) {
  const ClusterResult found = run(job);
  return double(found.statistics.gradients_applied) / to_seconds(found.statistics.last_commit);
}

// Omega of the best cutoff of each iteration in hindsight, of exponential runtimes of mean 1.
double best_in_hindsight() {
  constexpr int kRows = 20'000;
  Rng rng(7, 0);
  std::vector<std::vector<double>> rows(kRows);
  for (std::vector<double>& row : rows) {
    for (std::uint32_t w = 0; w < kEight; ++w) {
      row.push_back(rng.exponential());
    }
    std::sort(row.begin(), row.end());
  }
  double rate = 1.0;
  for (int round = 0; round < 30; ++round) {  // Dinkelbach's.
    double gradients = 0.0;
    double seconds = 0.0;
    for (const std::vector<double>& row : rows) {
      std::size_t best = 1;
      for (std::size_t c = 2; c <= kEight; ++c) {
        const auto worth = [&](std::size_t count) { return double(count) - rate * row[count - 1]; };
        best = worth(c) > worth(best) ? c : best;
      }
      gradients += double(best);
      seconds += row[best - 1];
    }
    rate = gradients / seconds;
  }
  return rate;
}

TEST(Oracle, IsAsGoodAsTheBestCutoffOfEachIterationInHindsight) {
  const Job job{.policy = "sync",
                .runtime = "exponential(mean=1s)",
                .workers = kEight,
                .limits = {.updates = 20'000},
                .oracle = true};
  const double found = gradients_per_second(job);
  EXPECT_NEAR(found, best_in_hindsight(), 0.01 * found);
}

TEST(Oracle, IsAboveEveryFixedCutoffWithLatencyAndFaultsToo) {
  Job job{.runtime = "7*lognormal(mean=100ms,cv=0.5),1*constant(mean=500ms)",
          .limits = {.updates = 2000},
          .latency = std::chrono::milliseconds(3),
          .faults = {"pause:worker=2,at=3s,for=2s", "crash:worker=4,at=9s"}};
  job.policy = "sync";
  job.oracle = true;
  const double oracle = gradients_per_second(job);
  job.oracle = false;
  for (std::uint32_t cutoff = 1; cutoff <= kEight; ++cutoff) {
    job.policy = "backup:cutoff=" + std::to_string(cutoff);
    EXPECT_GT(oracle, gradients_per_second(job)) << cutoff;
  }
}

TEST(Oracle, WaitsForAllWhereAllAreAlike) {
  const ClusterResult found = run({.policy = "sync",
                                   .runtime = "constant(mean=100ms)",
                                   .limits = {.updates = 100},
                                   .oracle = true});
  EXPECT_EQ(found.statistics.gradients_applied, 800U);
}

}  // namespace
}  // namespace outpace::sim

#include "server/statistics_collector.h"

#include <array>

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

using std::chrono::milliseconds;

constexpr WorkerId kA{0};
constexpr WorkerId kC{2};

StatisticsCollector two_workers() {
  StatisticsCollector collector;
  collector.joined(kA, "here");
  collector.joined(kC, "there");
  return collector;
}

TEST(StatisticsCollector, CountsEachGradientForItsWorkerAndForTheRun) {
  StatisticsCollector collector = two_workers();
  collector.arrived(kC, milliseconds(20), 0.5);
  collector.dropped(kC);
  collector.arrived(kC, milliseconds(30), 0.25);
  collector.turned_away(kC, update::Judgement::kNotFinite);
  collector.arrived(kC, milliseconds(40), 0.0);
  collector.turned_away(kC, update::Judgement::kTooOften);
  collector.abandoned(kA);
  collector.lost(kA);
  const Statistics& all = collector.statistics();
  EXPECT_EQ(all.gradients_dropped, 1U);
  EXPECT_EQ(all.gradients_refused, 1U);
  EXPECT_EQ(all.gradients_filtered, 1U);
  EXPECT_EQ(all.gradients_cancelled, 1U);
  ASSERT_EQ(all.workers.size(), 3U);
  EXPECT_EQ(all.workers[2].dropped, 1U);
  EXPECT_EQ(all.workers[2].refused, 1U);
  EXPECT_EQ(all.workers[2].filtered, 1U);
  EXPECT_EQ(all.workers[2].too_often, 1U);
  EXPECT_EQ(all.workers[2].iterations(), 3U);
  EXPECT_EQ(all.workers[2].compute_seconds, 0.75);
  EXPECT_EQ(all.workers[2].runtimes, (std::vector<float>{0.02F, 0.03F, 0.04F}));
  EXPECT_EQ(all.workers[0].cancelled, 1U);
  EXPECT_EQ(all.workers[0].lost, 1U);
}

TEST(StatisticsCollector, KnowsWhoIsLiveAndHowOftenItJoined) {
  StatisticsCollector collector = two_workers();
  collector.left(kA);
  EXPECT_FALSE(collector.statistics().workers[0].live);
  EXPECT_FALSE(collector.statistics().workers[1].live) << "it has never joined";
  EXPECT_TRUE(collector.statistics().workers[2].live);
  collector.joined(kA, "elsewhere");
  EXPECT_TRUE(collector.statistics().workers[0].live);
  EXPECT_EQ(collector.statistics().workers[0].incarnations, 2U);
  EXPECT_EQ(collector.statistics().workers[0].host, "elsewhere");
}

TEST(StatisticsCollector, AddsUpAnUpdate) {
  StatisticsCollector collector = two_workers();
  const std::array<AppliedGradient, 2> first{
      {{.worker = kA, .staleness = 0, .examples = 8, .partial = false, .loss = 2.0},
       {.worker = kC, .staleness = 3, .examples = 5, .partial = true, .loss = 1.0}}};
  collector.updated(Time{milliseconds(100)}, first);
  const Statistics& all = collector.statistics();
  EXPECT_EQ(all.updates, 1U);
  EXPECT_EQ(all.gradients_applied, 2U);
  EXPECT_EQ(all.examples_applied, 13U);
  EXPECT_EQ(all.last_commit, Time{milliseconds(100)});
  EXPECT_EQ(all.staleness, (std::vector<std::uint64_t>{1, 0, 0, 1}));
  EXPECT_EQ(all.staleness_mean(), 1.5);
  EXPECT_EQ(all.training_loss, 2.0 + 0.02 * (1.0 - 2.0)) << "the first counts whole";
  EXPECT_EQ(all.workers[0].accepted, 1U);
  EXPECT_EQ(all.workers[0].partial, 0U);
  EXPECT_EQ(all.workers[2].partial, 1U);
  EXPECT_EQ(all.workers[2].examples_applied, 5U);
}

TEST(StatisticsCollector, KeepsTheLongestRunOfReleasesInVain) {
  StatisticsCollector collector = two_workers();
  for (const std::uint64_t in_vain : {1U, 2U, 0U, 1U}) {
    collector.ended(kA, in_vain);
  }
  EXPECT_EQ(collector.statistics().workers[0].starved, 2U);
}

TEST(StatisticsCollector, LeavesNothingWhenTaken) {
  StatisticsCollector collector = two_workers();
  collector.epochs({.complete = 2, .used_min = 1, .used_max = 1});
  collector.noise_scale(48.0);
  const Statistics taken = collector.take();
  EXPECT_EQ(taken.epochs_complete, 2U);
  EXPECT_EQ(taken.examples_used_per_epoch_max, 1U);
  EXPECT_EQ(taken.gradient_noise_scale, 48.0);
  EXPECT_EQ(taken.workers.size(), 3U);
  EXPECT_TRUE(collector.statistics().workers.empty());
}

}  // namespace
}  // namespace outpace::server

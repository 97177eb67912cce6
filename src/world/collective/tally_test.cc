#include "collective/tally.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::collective {
namespace {

Time at(int milliseconds) {
  return Time{std::chrono::milliseconds(milliseconds)};
}

protocol::Push report(std::uint32_t worker,
                      std::uint64_t sequence,
                      std::uint32_t examples,
                      double loss) {
  return {.id = {.job = 1,
                 .generation = 1,
                 .worker = WorkerId{worker},
                 .incarnation = 1,
                 .sequence = Sequence{sequence}},
          .examples = examples,
          .partial = false,
          .loss = loss,
          .compute_seconds = 0.25};
}

TEST(Tally, ARingsUpdateIsOverWhenAllHaveReported) {
  Tally tally(Topology::kRing, {.workers = 2, .batch = 8, .examples = 100});
  tally.joined(WorkerId{0}, "a");
  tally.joined(WorkerId{1}, "b");
  EXPECT_EQ(tally.live(), 2U);
  tally.gradient(at(10), report(0, 1, 8, 2.0), {.runtime = 0.00F});
  EXPECT_EQ(tally.statistics().updates, 0U);
  tally.gradient(at(30), report(1, 1, 8, 2.0), {.runtime = 0.01F});
  EXPECT_EQ(tally.version(), Version{1});
  EXPECT_EQ(tally.statistics().last_commit, at(30));
  tally.gradient(at(40), report(0, 2, 8, 1.0), {.runtime = 0.00F});
  tally.gradient(at(60), report(1, 2, 8, 1.0), {.runtime = 0.01F});
  const server::Statistics& found = tally.statistics();
  EXPECT_EQ(found.updates, 2U);
  EXPECT_EQ(found.gradients_applied, 4U);
  EXPECT_EQ(found.examples_applied, 32U);
  EXPECT_EQ(found.staleness, std::vector<std::uint64_t>{4});
  EXPECT_EQ(found.workers[0].runtimes, (std::vector<float>{0.00F, 0.00F}));
  EXPECT_EQ(found.workers[1].runtimes, (std::vector<float>{0.01F, 0.01F}));
  EXPECT_DOUBLE_EQ(found.workers[1].compute_seconds, 0.5);
}

TEST(Tally, ARingsLastUpdateCountsThoughNotAllHadExamples) {
  Tally tally(Topology::kRing, {.workers = 2, .batch = 4, .examples = 12, .epochs = 1});
  tally.joined(WorkerId{0}, "a");
  tally.joined(WorkerId{1}, "b");
  tally.gradient(at(1), report(0, 1, 4, 1.0), {.runtime = 0.00F});
  tally.gradient(at(1), report(1, 1, 4, 1.0), {.runtime = 0.01F});
  tally.gradient(at(2), report(0, 2, 4, 1.0), {.runtime = 0.00F});
  EXPECT_EQ(tally.statistics().updates, 1U);
  tally.finish();
  EXPECT_EQ(tally.statistics().updates, 2U);
  EXPECT_EQ(tally.statistics().epochs_complete, 1U);
}

TEST(Tally, AnUpdateCountsWholeThoughAWorkerDiedBeforeItReported) {
  Tally tally(Topology::kRing, {.workers = 3, .batch = 4, .examples = 100});
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    tally.joined(WorkerId{worker}, "a");
  }
  tally.gradient(at(1), report(0, 1, 4, 1.0), {.runtime = 0.0F});
  tally.left(WorkerId{2});  // It had applied the update, as the others did.
  EXPECT_EQ(tally.statistics().updates, 0U);
  tally.gradient(at(2), report(1, 1, 4, 1.0), {.runtime = 0.0F});
  EXPECT_EQ(tally.statistics().updates, 1U);
  EXPECT_EQ(tally.statistics().examples_applied, 12U);
  EXPECT_EQ(tally.statistics().workers[2].examples_applied, 4U);
  tally.formed(at(3), Version{1}, {WorkerId{0}, WorkerId{1}});
  tally.gradient(at(4), report(0, 2, 4, 1.0), {.runtime = 0.0F});
  tally.gradient(at(5), report(1, 2, 4, 1.0), {.runtime = 0.0F});
  EXPECT_EQ(tally.statistics().updates, 2U);
  EXPECT_EQ(tally.statistics().examples_applied, 20U);
  EXPECT_EQ(tally.statistics().workers[2].examples_applied, 4U);
}

TEST(Tally, AnUpdateThatOnlyTheDeadHadAppliedIsNotCounted) {
  Tally tally(Topology::kRing, {.workers = 3, .batch = 4, .examples = 100});
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    tally.joined(WorkerId{worker}, "a");
  }
  tally.gradient(at(1), report(2, 1, 4, 1.0), {.runtime = 0.0F});
  tally.left(WorkerId{2});
  tally.formed(at(3), Version{0}, {WorkerId{0}, WorkerId{1}});
  EXPECT_EQ(tally.statistics().examples_applied, 0U);
  tally.gradient(at(4), report(0, 1, 4, 1.0), {.runtime = 0.0F});
  tally.gradient(at(5), report(1, 1, 4, 1.0), {.runtime = 0.0F});
  tally.finish();
  EXPECT_EQ(tally.statistics().updates, 1U);
  EXPECT_EQ(tally.statistics().examples_applied, 8U);
}

TEST(Tally, EveryGradientOfAGossipIsAnUpdate) {
  Tally tally(Topology::kGossip, {.workers = 2});
  tally.gradient(at(10), report(0, 1, 8, 2.0), {.runtime = 0.00F});
  tally.gradient(at(15), report(0, 2, 8, 2.0), {.runtime = 0.00F});
  tally.gradient(at(40), report(1, 1, 8, 1.0), {.runtime = 0.01F});
  const server::Statistics& found = tally.statistics();
  EXPECT_EQ(found.updates, 3U);
  EXPECT_EQ(found.last_commit, at(40));
  EXPECT_EQ(found.workers[0].runtimes.size(), 2U);
  EXPECT_EQ(found.workers[1].runtimes, (std::vector<float>{0.01F}));
  EXPECT_TRUE(found.staleness.empty());
  ASSERT_TRUE(found.training_loss);
  EXPECT_DOUBLE_EQ(*found.training_loss, 2.0 - 0.02);
}

TEST(Tally, WhoLeftIsNotLive) {
  Tally tally(Topology::kGossip, {.workers = 2});
  tally.joined(WorkerId{0}, "a");
  tally.joined(WorkerId{1}, "b");
  tally.left(WorkerId{0});
  EXPECT_EQ(tally.live(), 1U);
}

}  // namespace
}  // namespace outpace::collective

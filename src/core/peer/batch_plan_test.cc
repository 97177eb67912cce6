#include "peer/batch_plan.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

using protocol::Range;
using protocol::Ranges;

TEST(BatchPlan, WorkersTakeTheNextMiniBatchesInTheirOrder) {
  BatchPlan plan({.workers = 2, .batch = 3, .examples = 100});
  EXPECT_EQ(plan.next(WorkerId{1})->own, (Ranges{Range{0, 3, 6}}));
  const auto second = plan.next(WorkerId{1});
  EXPECT_EQ(second->own, (Ranges{Range{0, 9, 12}}));
  EXPECT_EQ(second->own_examples, 3U);
  EXPECT_EQ(second->examples, 6U);
}

TEST(BatchPlan, EpochsOverlapWithoutALimitOnThem) {
  BatchPlan plan({.workers = 2, .batch = 3, .examples = 10});
  (void)plan.next(WorkerId{1});
  EXPECT_EQ(plan.next(WorkerId{1})->own, (Ranges{Range{0, 9, 10}, Range{1, 0, 2}}));
}

TEST(BatchPlan, TheLastEpochDrains) {
  // The second update has 5 of the 11 examples: 3 for worker 0, 2 for worker 1.
  BatchPlan plan({.workers = 2, .batch = 3, .examples = 11, .epochs = 1});
  (void)plan.next(WorkerId{1});
  const auto last = plan.next(WorkerId{1});
  EXPECT_EQ(last->own_examples, 2U);
  EXPECT_EQ(last->examples, 5U);
  EXPECT_FALSE(plan.next(WorkerId{1}).has_value());
}

TEST(BatchPlan, AWorkerForWhomNothingIsLeftStillTakesPart) {
  BatchPlan plan({.workers = 3, .batch = 4, .examples = 5, .epochs = 1});
  const auto only = plan.next(WorkerId{2});
  EXPECT_TRUE(only->own.empty());
  EXPECT_EQ(only->own_examples, 0U);
  EXPECT_EQ(only->examples, 5U);
}

TEST(BatchPlan, LimitsOnUpdatesAndGradients) {
  const auto updates = [](const BatchPlanOptions& options) {
    BatchPlan plan(options);
    int count = 0;
    while (plan.next(WorkerId{0})) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(updates({.workers = 4, .batch = 2, .examples = 9, .updates = 7}), 7);
  EXPECT_EQ(updates({.workers = 4, .batch = 2, .examples = 9, .iterations = 9}), 3);
  EXPECT_EQ(updates({.workers = 4, .batch = 2, .examples = 10, .iterations = 9, .epochs = 1}), 2);
}

TEST(BatchPlan, TheSharesOfAllWorkersUseEveryExampleOnce) {
  constexpr std::uint64_t kExamples = 103;
  std::vector<int> uses(kExamples);
  std::vector<std::uint64_t> sums;
  for (std::uint32_t worker = 0; worker < 5; ++worker) {
    BatchPlan plan({.workers = 5, .batch = 7, .examples = kExamples, .epochs = 2});
    for (std::size_t i = 0; const auto update = plan.next(WorkerId{worker}); ++i) {
      sums.resize(std::max(sums.size(), i + 1));
      sums[i] += update->own_examples;
      for (const Range& range : update->own) {
        for (std::uint64_t position = range.begin; position < range.end; ++position) {
          ++uses[position];
        }
      }
      if (worker == 4) {
        EXPECT_EQ(sums[i], update->examples);
      }
    }
  }
  EXPECT_EQ(uses, std::vector<int>(kExamples, 2));
}

TEST(BatchPlan, AnUpdateThatIsPutBackGoesToThoseThatAreLeft) {
  BatchPlan plan({.workers = 3, .batch = 2, .examples = 100, .iterations = 5});
  EXPECT_EQ(plan.next(WorkerId{2})->own, (Ranges{Range{0, 4, 6}}));
  EXPECT_EQ(plan.next(WorkerId{2})->own, (Ranges{Range{0, 10, 12}}));
  plan.put_back();
  plan.set_workers({WorkerId{0}, WorkerId{2}});
  const auto again = plan.next(WorkerId{2});
  EXPECT_EQ(again->own, (Ranges{Range{0, 8, 10}}));
  EXPECT_EQ(again->examples, 4U);
  EXPECT_EQ(again->shares, (std::vector<std::uint32_t>{2, 2}));
  EXPECT_FALSE(plan.next(WorkerId{2}).has_value()) << "3 and 2 gradients are 5";
}

TEST(NextSnapshot, IsTheNextMultiple) {
  EXPECT_EQ(next_snapshot(0, 5120), 5120U);
  EXPECT_EQ(next_snapshot(5119, 5120), 5120U);
  EXPECT_EQ(next_snapshot(5120, 5120), 10240U);
}

}  // namespace
}  // namespace outpace::peer

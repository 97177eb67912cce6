#include "policy/recent_decisions.h"

#include <chrono>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

Time at_ms(std::uint64_t ms) {
  return Time{std::chrono::milliseconds(ms)};
}

// A worker joins, and each of its gradients from `first` to `last` is an update.
void feed(RecentDecisions& recent, std::uint64_t first, std::uint64_t last) {
  constexpr WorkerId kWorker{1};
  if (first == 1) {
    const std::vector<Action> release{Release{kWorker}};
    recent.add(at_ms(0), WorkerJoined{kWorker}, {.actions = release});
  }
  for (std::uint64_t i = first; i <= last; ++i) {
    const std::vector<Action> update{Accept{kWorker, Sequence{i}, 1.0}, Commit{}, Release{kWorker}};
    recent.add(at_ms(10 * i),
               GradientArrived{.worker = kWorker,
                               .release = Sequence{i},
                               .computed_on = Version{i - 1},
                               .examples = 32,
                               .nominal = 32,
                               .partial = false,
                               .runtime = std::chrono::milliseconds(10)},
               {.actions = update, .words = "each counts"});
  }
}

TEST(RecentDecisions, ForgetTheOldestAndKnowWhereTheRunWasThen) {
  RecentDecisions recent;
  feed(recent, 1, RecentDecisions::kMost + 2500);
  const RecentDecisions::Parts parts = recent.keep();
  const RecentDecisions::Part& oldest = *parts.front();
  // The first kPart - 1 gradients of a run share their part with the worker that joins.
  EXPECT_EQ(count(oldest.begin.version) % RecentDecisions::kPart, RecentDecisions::kPart - 1);
  EXPECT_EQ(oldest.decided.front().now, at_ms(10 * (count(oldest.begin.version) + 1)));
  ASSERT_EQ(oldest.begin.workers.size(), 2U);
  EXPECT_FALSE(oldest.begin.workers[0].live);
  EXPECT_TRUE(oldest.begin.workers[1].live);
  EXPECT_EQ(oldest.begin.workers[1].task.begun, oldest.begin.now);
  EXPECT_EQ(parts.back()->decided.back().words, "each counts");
  std::size_t kept = 0;
  for (const auto& part : parts) {
    kept += part->decided.size();
  }
  EXPECT_LE(kept, RecentDecisions::kMost);
  EXPECT_GT(kept, RecentDecisions::kMost - 2 * RecentDecisions::kPart);
}

TEST(RecentDecisions, StayAsTheyWereWhenTheyWereKept) {
  RecentDecisions recent(Version{7});
  feed(recent, 1, 10);
  const RecentDecisions::Parts before = recent.keep();
  feed(recent, 11, 20);
  EXPECT_EQ(before.back()->decided.size(), 11U);
  EXPECT_EQ(before.back()->actions.size(), 31U);
  EXPECT_EQ(before.front()->begin.version, Version{7});
  EXPECT_EQ(recent.keep().back()->decided.size(), 21U);
}

}  // namespace
}  // namespace outpace::policy

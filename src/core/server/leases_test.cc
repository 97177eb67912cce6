#include "server/leases.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::server {
namespace {

using protocol::Range;
using protocol::Ranges;

constexpr WorkerId kOne{1};
constexpr WorkerId kTwo{2};

Ranges take(Leases& leases, WorkerId worker, std::uint64_t wanted) {
  Ranges ranges;
  leases.take(worker, wanted, ranges);
  return ranges;
}

TEST(Leases, HandsOutEveryPositionOnceAndThenTheNextEpoch) {
  Leases leases(10, 0);
  EXPECT_EQ(take(leases, kOne, 4), (Ranges{{0, 0, 4}}));
  EXPECT_EQ(take(leases, kTwo, 4), (Ranges{{0, 4, 8}}));
  EXPECT_EQ(take(leases, kOne, 4), (Ranges{{0, 8, 10}, {1, 0, 2}}));
}

TEST(Leases, GivesWhatWasLostToAnotherWorkerFirst) {
  Leases leases(10, 0);
  const Ranges lost = take(leases, kOne, 4);
  leases.give_back(kOne, lost);
  EXPECT_EQ(take(leases, kOne, 2), (Ranges{{0, 4, 6}})) << "another worker may still ask";
  EXPECT_EQ(take(leases, kTwo, 3), (Ranges{{0, 0, 3}}));
  EXPECT_EQ(take(leases, kTwo, 3), (Ranges{{0, 3, 4}, {0, 6, 8}}));
}

TEST(Leases, GivesAWorkerItsOwnLossBeforeTheNextEpochBegins) {
  Leases leases(4, 0);
  const Ranges lost = take(leases, kOne, 4);
  leases.give_back(kOne, lost);
  EXPECT_EQ(take(leases, kOne, 6), (Ranges{{0, 0, 4}, {1, 0, 2}}));
}

TEST(Leases, RunsDryAtTheLastEpochUntilSomethingComesBack) {
  Leases leases(4, 1);
  const Ranges all = take(leases, kOne, 8);
  EXPECT_EQ(all, (Ranges{{0, 0, 4}}));
  EXPECT_TRUE(leases.empty());
  EXPECT_TRUE(take(leases, kTwo, 1).empty());
  const SplitRanges split = split_ranges(all, 3);
  leases.use(split.head);
  EXPECT_FALSE(leases.finished());
  leases.give_back(kOne, split.tail);
  EXPECT_FALSE(leases.empty());
  leases.use(take(leases, kTwo, 8));
  EXPECT_TRUE(leases.finished());
  EXPECT_EQ(leases.epochs_complete(), 1U);
}

TEST(Leases, SplitsRangesAtACountOfExamples) {
  const SplitRanges split = split_ranges({{0, 8, 10}, {1, 0, 4}}, 3);
  EXPECT_EQ(split.head, (Ranges{{0, 8, 10}, {1, 0, 1}}));
  EXPECT_EQ(split.tail, (Ranges{{1, 1, 4}}));
}

TEST(Leases, TakesRangesOutOfOthers) {
  const protocol::Ranges ranges{{0, 0, 10}, {1, 0, 5}};
  EXPECT_EQ(take_out(ranges, {{0, 2, 4}, {1, 0, 5}, {0, 8, 10}}),
            (protocol::Ranges{{0, 0, 2}, {0, 4, 8}}));
  EXPECT_EQ(take_out(ranges, {{0, 0, 10}, {1, 0, 5}}), protocol::Ranges{});
  EXPECT_EQ(take_out(ranges, {{0, 0, 11}}), std::nullopt);
  EXPECT_EQ(take_out(ranges, {{2, 0, 1}}), std::nullopt);
  EXPECT_EQ(take_out(ranges, {{0, 0, 4}, {0, 3, 5}}), std::nullopt) << "they overlap";
}

TEST(Leases, HandOutWhatTheyAreFedAlone) {
  Leases leases(100, 0, /*fed=*/true);
  protocol::Ranges taken;
  leases.take(WorkerId{0}, 4, taken);
  EXPECT_TRUE(taken.empty() && leases.empty());
  leases.feed({{2, 10, 16}});
  EXPECT_EQ(leases.left(), 6U);
  leases.take(WorkerId{0}, 4, taken);
  EXPECT_EQ(taken, (protocol::Ranges{{2, 10, 14}}));
  leases.give_back(WorkerId{0}, taken);
  EXPECT_EQ(leases.left(), 6U);
  leases.feed({});
  leases.give_back(WorkerId{0}, {{2, 10, 14}});
  EXPECT_TRUE(leases.empty()) << "they are others' by now";
}

TEST(UsedPositions, CountsAgainstAPlainArrayOfCounts) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    Rng rng(seed, 0);
    UsedPositions used;
    std::vector<int> plain(40, 0);
    for (int step = 0; step < 20; ++step) {
      const std::uint64_t begin = rng.below(40);
      const std::uint64_t end = begin + 1 + rng.below(40 - begin);
      std::uint64_t again = 0;
      for (std::uint64_t position = begin; position < end; ++position) {
        again += plain[position] > 0 ? 1U : 0U;
        plain[position] = 1;
      }
      EXPECT_EQ(used.add(begin, end), again);
      EXPECT_EQ(used.size(), static_cast<std::uint64_t>(std::count(plain.begin(), plain.end(), 1)));
    }
  }
}

TEST(Leases, GiveAWorkerItsOwnLossOnlyIfItMayHaveIt) {
  Leases leases(4, 1);
  const Ranges lost = take(leases, kOne, 4);
  leases.give_back(kOne, lost);
  EXPECT_TRUE(leases.empty_for(kOne));
  EXPECT_FALSE(leases.empty_for(kTwo));
  Ranges ranges;
  leases.take(kOne, 4, ranges, /*own=*/false);
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(take(leases, kTwo, 4), lost);
  EXPECT_TRUE(leases.empty_for(kTwo));
}

}  // namespace
}  // namespace outpace::server

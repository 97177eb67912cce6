#include "server/failed_examples.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::server {
namespace {

using protocol::Ranges;

constexpr WorkerId kFailing{1};

TEST(FailedExamples, AreTriedThreeTimes) {
  FailedExamples failed;
  const Ranges ranges{{0, 10, 20}};
  const auto first = failed.fail(kFailing, ranges, 1);
  EXPECT_TRUE(first.fresh);
  EXPECT_EQ(first.again, ranges);
  EXPECT_FALSE(failed.fail(kFailing, ranges, 1).fresh) << "the same examples are no news";
  const auto third = failed.fail(kFailing, ranges, 1);
  EXPECT_EQ(third.left_out, ranges);
  EXPECT_TRUE(third.again.empty());
  EXPECT_TRUE(failed.empty());
}

TEST(FailedExamples, AreCountedInPieces) {
  FailedExamples failed;
  (void)failed.fail(kFailing, {{0, 0, 8}}, 1);
  (void)failed.fail(kFailing, {{0, 4, 12}}, 1);
  const auto found = failed.fail(kFailing, {{0, 6, 14}, {1, 6, 8}}, 1);
  EXPECT_EQ(found.left_out, (Ranges{{0, 6, 8}}));
  EXPECT_EQ(found.again, (Ranges{{0, 8, 14}, {1, 6, 8}}));
}

TEST(FailedExamples, ThatAreUsedStartAnew) {
  FailedExamples failed;
  (void)failed.fail(kFailing, {{0, 0, 8}}, 1);
  (void)failed.fail(kFailing, {{0, 0, 8}}, 1);
  failed.forget({{0, 2, 4}});
  const auto found = failed.fail(kFailing, {{0, 0, 8}}, 1);
  EXPECT_EQ(found.left_out, (Ranges{{0, 0, 2}, {0, 4, 8}}));
  EXPECT_EQ(found.again, (Ranges{{0, 2, 4}}));
}

// Two workers may be at fault themselves, and a third one is asked.
TEST(FailedExamples, AreTriedByThreeWorkersIfThereAreSoMany) {
  const Ranges ranges{{0, 0, 8}};
  FailedExamples failed;
  for (std::uint32_t turn = 0; turn < 20; ++turn) {
    EXPECT_TRUE(failed.fail(WorkerId{turn % 2}, ranges, 5).left_out.empty());
  }
  EXPECT_EQ(failed.fail(WorkerId{2}, ranges, 5).left_out, ranges);
  std::uint32_t tries = 1;
  while (failed.fail(WorkerId{tries % 2}, ranges, 5).left_out.empty()) {
    ++tries;
  }
  EXPECT_EQ(tries, FailedExamples::kTriesMost) << "the third worker never comes";
}

// A dumb twin counts each position by itself.
TEST(FailedExamples, EqualACountByPosition) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed, 0);
    FailedExamples failed;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> counts;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t begin = rng.below(30);
      const Ranges ranges{{rng.below(2), begin, begin + 1 + rng.below(9)}};
      const bool used = rng.below(4) == 0;
      FailedExamples::Outcome found;
      if (used) {
        failed.forget(ranges);
      } else {
        found = failed.fail(kFailing, ranges, 1);
      }
      Ranges left_out;
      for (std::uint64_t at = ranges[0].begin; at < ranges[0].end; ++at) {
        std::uint32_t& count = counts[{ranges[0].epoch, at}];
        count = used ? 0 : count + 1;
        if (count == FailedExamples::kTries) {
          count = 0;
          left_out.push_back({ranges[0].epoch, at, at + 1});
        }
      }
      Ranges each;
      for (const protocol::Range& range : found.left_out) {
        for (std::uint64_t at = range.begin; at < range.end; ++at) {
          each.push_back({range.epoch, at, at + 1});
        }
      }
      ASSERT_EQ(each, left_out) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace outpace::server

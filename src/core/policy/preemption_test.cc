#include "policy/preemption.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::policy {
namespace {

constexpr WorkerId kFirstSlow{0};
constexpr std::uint32_t kLive = 2;
constexpr std::uint32_t kMembersMost = 100;  // Interruptions that are saved up at most.

// The lag at which the worker is interrupted if it is released now, at `version`.
std::uint64_t lag_when_due(Preemption& preemption, std::uint64_t& version) {
  const std::uint64_t released = version;
  preemption.earn(kMembersMost);
  preemption.released(kFirstSlow, version, kLive);
  while (!preemption.next_due(++version)) {
  }
  return version - released;
}

// It is interrupted, and answers after `crossing` more versions.
std::uint64_t interrupt(Preemption& preemption, std::uint64_t& version, std::uint64_t crossing) {
  const std::uint64_t lag = lag_when_due(preemption, version);
  for (std::uint64_t i = 0; i < crossing; ++i) {
    EXPECT_FALSE(preemption.next_due(++version));
  }
  EXPECT_TRUE(preemption.ended(kFirstSlow));
  preemption.answered(kFirstSlow, version, /*whole=*/false);
  return lag;
}

TEST(Preemption, AllowsForTheLongestCrossingSeenAtOnce) {
  Preemption preemption(10);
  preemption.join(kFirstSlow);
  std::uint64_t version = 0;
  EXPECT_EQ(interrupt(preemption, version, 4), 9U);  // Before it knows better: 1.
  EXPECT_EQ(interrupt(preemption, version, 0), 6U);
}

TEST(Preemption, ForgetsALongCrossingSlowly) {
  Preemption preemption(10);
  preemption.join(kFirstSlow);
  std::uint64_t version = 0;
  (void)interrupt(preemption, version, 3);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(interrupt(preemption, version, 0), 7U);
  }
  for (int i = 0; i < 16; ++i) {
    (void)interrupt(preemption, version, 0);
  }
  EXPECT_EQ(interrupt(preemption, version, 0), 10U);
}

TEST(Preemption, NeverInterruptsBeforeOneVersion) {
  Preemption preemption(3);
  preemption.join(kFirstSlow);
  std::uint64_t version = 0;
  (void)interrupt(preemption, version, 20);
  EXPECT_EQ(interrupt(preemption, version, 20), 1U);
}

TEST(Preemption, NeverInterruptsWhoIsNoFurtherBehindThanAllAreOnAverage) {
  const auto lag_after_long_crossing = [](std::uint64_t bound, std::uint32_t live) {
    Preemption preemption(bound);
    preemption.join(kFirstSlow);
    preemption.earn(kMembersMost);
    preemption.earn(kMembersMost);
    preemption.released(kFirstSlow, 0, live);
    std::uint64_t version = 0;
    while (!preemption.next_due(++version)) {
    }
    (void)preemption.ended(kFirstSlow);
    preemption.answered(kFirstSlow, version + 100, /*whole=*/false);
    version += 100;
    const std::uint64_t released = version;
    preemption.released(kFirstSlow, version, live);
    while (!preemption.next_due(++version)) {
    }
    return version - released;
  };
  EXPECT_EQ(lag_after_long_crossing(12, 1), 1U);
  EXPECT_EQ(lag_after_long_crossing(12, 4), 3U);
  EXPECT_EQ(lag_after_long_crossing(12, 7), 6U);
  EXPECT_EQ(lag_after_long_crossing(12, 100), 6U);  // Half of the bound at most.
  EXPECT_EQ(lag_after_long_crossing(11, 100), 6U);
  EXPECT_EQ(lag_after_long_crossing(1, 100), 1U);
}

TEST(Preemption, LearnsNoShorterCrossingFromAGradientThatHadLeft) {
  Preemption preemption(10);
  preemption.join(kFirstSlow);
  std::uint64_t version = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(lag_when_due(preemption, version), 9U);
    EXPECT_TRUE(preemption.ended(kFirstSlow));
    preemption.answered(kFirstSlow, version, /*whole=*/true);
  }
}

TEST(Preemption, InterruptsOneForEachWholeGradientInTheOrderInWhichTheyFellDue) {
  Preemption preemption(2);
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    preemption.join(WorkerId{worker});
    preemption.released(WorkerId{worker}, worker, kLive);  // Due at 1, 2 and 3.
  }
  EXPECT_EQ(preemption.next_due(1), std::nullopt);
  EXPECT_EQ(preemption.next_due(2), std::nullopt);
  preemption.earn(kMembersMost);
  EXPECT_EQ(preemption.next_due(3), WorkerId{0});
  EXPECT_EQ(preemption.next_due(3), std::nullopt);
  EXPECT_FALSE(preemption.ended(WorkerId{1}));  // It answered by itself: the queue closes up.
  for (int whole = 0; whole < 5; ++whole) {
    preemption.earn(2);
  }
  EXPECT_EQ(preemption.next_due(4), WorkerId{2});
  EXPECT_EQ(preemption.next_due(4), std::nullopt);
  preemption.released(WorkerId{1}, 4, kLive);
  EXPECT_EQ(preemption.next_due(5), WorkerId{1}) << "one of the two was saved";
}

TEST(Preemption, FindsTheSameWorkersAsLookingAtEveryOneWithAnyBound) {
  constexpr std::uint32_t kMembers = 9;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::uint64_t bound = seed % 2 == 0 ? 5 : 2000;  // Once around the wheel, and twice.
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    Preemption preemption(bound);
    std::vector<std::uint64_t> due(kMembers, 0);  // Every crossing stays 1; 0 is not waiting.
    for (std::uint32_t worker = 0; worker < kMembers; ++worker) {
      preemption.join(WorkerId{worker});
    }
    for (std::uint64_t version = 1; version < 40 * bound; ++version) {
      preemption.earn(kMembers);
      std::vector<std::uint32_t> found;
      while (const auto worker = preemption.next_due(version)) {
        found.push_back(static_cast<std::uint32_t>(*worker));
      }
      std::sort(found.begin(), found.end());
      std::vector<std::uint32_t> expected;
      for (std::uint32_t worker = 0; worker < kMembers; ++worker) {
        if (due[worker] == version) {
          expected.push_back(worker);
          due[worker] = 0;
        }
      }
      ASSERT_EQ(found, expected);
      const auto worker = static_cast<std::uint32_t>(rng.below(kMembers));
      (void)preemption.ended(WorkerId{worker});
      preemption.released(WorkerId{worker}, version, kMembers);
      due[worker] = version + bound - 1;
    }
  }
}

}  // namespace
}  // namespace outpace::policy

#include "watch/recent_updates.h"

#include <chrono>

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

using namespace std::chrono_literals;

// An update of 3 gradients of 4 workers each second, from second 1 on; 30 examples each.
RecentUpdates updates(int count) {
  RecentUpdates found;
  for (int i = 1; i <= count; ++i) {
    found.add({.at = Time{i * 1s},
               .gradients = 3,
               .live = 4,
               .applied = 30U * static_cast<std::uint64_t>(i)});
  }
  return found;
}

TEST(RecentUpdates, KnowsNothingOfOne) {
  EXPECT_FALSE(updates(1).rate(Time{2s}));
  EXPECT_FALSE(updates(1).seconds(Time{2s}));
  EXPECT_FALSE(updates(1).without());
  EXPECT_FALSE(updates(7).enough());
  EXPECT_TRUE(updates(8).enough());
}

TEST(RecentUpdates, LooksBackOnEightUpdatesAtLeast) {
  const RecentUpdates found = updates(20);
  EXPECT_EQ(found.seconds(Time{20s}), 1.0);
  EXPECT_EQ(found.rate(Time{20s}), 30.0);             // From update 13 on.
  EXPECT_EQ(found.rate(Time{27s}), 7 * 30.0 / 14.0);  // Time goes on; they stay the newest.
  EXPECT_EQ(found.rate_of_updates(Time{27s}), 30.0);
}

TEST(RecentUpdates, LooksBackOnFiveSecondsIfThatIsMore) {
  RecentUpdates found;
  for (int i = 0; i < 20; ++i) {
    found.add({.at = Time{i * 1s}, .applied = 0});
  }
  for (int i = 1; i <= 100; ++i) {
    found.add({.at = Time{19s + i * 100ms}, .applied = static_cast<std::uint64_t>(i)});
  }
  EXPECT_NEAR(*found.seconds(Time{29s}), 0.1, 1e-9);
  EXPECT_NEAR(*found.rate(Time{29s}), 10.0, 1e-9);
}

TEST(RecentUpdates, HaveNoRateWhereAllAreOfOneMoment) {
  RecentUpdates found;
  for (int i = 0; i < 8; ++i) {
    found.add({.at = Time{1s}, .applied = static_cast<std::uint64_t>(i)});
  }
  EXPECT_FALSE(found.rate_of_updates(Time{1s}));
}

TEST(RecentUpdates, SayWhatATypicalOneDidWithout) {
  RecentUpdates found = updates(8);
  EXPECT_EQ(found.without(), 1U);
  EXPECT_FALSE(found.with_all(Time{8s}));
  for (int i = 9; i < 30; ++i) {
    found.add({.at = Time{i * 1s}, .gradients = 5, .live = 4, .applied = 0});
  }
  EXPECT_EQ(found.without(), 0U);  // More gradients than workers: none is missing.
  EXPECT_TRUE(found.with_all(Time{29s}));
  found.clear();
  EXPECT_FALSE(found.enough());
}

}  // namespace
}  // namespace outpace::watch

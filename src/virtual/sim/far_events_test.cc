#include "sim/far_events.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::sim {
namespace {

EventEntry entry(std::uint64_t nanoseconds, std::uint64_t id) {
  return make_event_entry(Time{Duration{static_cast<std::int64_t>(nanoseconds)}}, id);
}

std::vector<EventEntry> make_entries(std::size_t count, std::uint64_t span, Rng& rng) {
  std::vector<EventEntry> entries;
  for (std::uint64_t id = 0; id < count; ++id) {
    entries.push_back(entry(rng.below(span), id));
  }
  return entries;
}

TEST(FarEvents, ComeBackInOrderWhateverIsAddedMeanwhile) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 0);
    FarEvents far(1 + rng.below(100));
    const std::uint64_t span = std::uint64_t{1} << rng.below(50);
    std::vector<EventEntry> expected = make_entries(1 + rng.below(1000), span, rng);
    far.spread(expected);
    std::vector<EventEntry> taken;
    while (far.size() > 0) {
      const Time before = far.begin();
      const std::size_t first = taken.size();
      far.take(taken);
      ASSERT_GT(taken.size(), first);
      ASSERT_GT(far.begin(), before);
      ASSERT_EQ(taken.size() + far.size(), expected.size());
      for (std::size_t i = first; i < taken.size(); ++i) {
        ASSERT_GE(time_of(taken[i]), before);
        ASSERT_LT(time_of(taken[i]), far.begin());
      }
      if (rng.below(3) > 0 && far.begin() < Time::max()) {
        expected.push_back(make_event_entry(
            far.begin() + Duration{static_cast<std::int64_t>(rng.below(span))}, expected.size()));
        far.add(expected.back());
      }
    }
    std::sort(taken.begin(), taken.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_TRUE(taken == expected);
  }
}

// However many there are, what is near stays few: but for those of one time.
TEST(FarEvents, ComeBackInSmallParts) {
  Rng rng(1, 0);
  for (const std::uint64_t span : {std::uint64_t{1} << 20U, std::uint64_t{1} << 60U}) {
    FarEvents far(4096);
    far.spread(make_entries(100'000, span, rng));
    std::vector<EventEntry> part;
    while (far.size() > 0 && far.begin() < Time::max()) {
      part.clear();
      far.take(part);
      EXPECT_LE(part.size(), 2048U);
    }
  }
}

TEST(FarEvents, OfOneTimeComeBackTogether) {
  FarEvents far(16);
  std::vector<EventEntry> entries;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    entries.push_back(entry(id < 600 ? 7 : 8 + id, id));
  }
  far.spread(entries);
  std::vector<EventEntry> taken;
  far.take(taken);
  EXPECT_EQ(taken.size(), 600U);
  EXPECT_EQ(far.begin(), Time{Duration{8}});
}

TEST(FarEvents, ThatAreErasedDoNotCount) {
  Rng rng(1, 0);
  FarEvents far(16);
  far.spread(make_entries(1000, 1'000'000, rng));
  far.erase_if([](EventEntry each) { return id_of(each) % 2 == 0; });
  EXPECT_EQ(far.size(), 500U);
  std::vector<EventEntry> taken;
  while (far.size() > 0) {
    far.take(taken);
  }
  EXPECT_EQ(taken.size(), 500U);
}

}  // namespace
}  // namespace outpace::sim

#include "links/full_level.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::links {
namespace {

using Shares = std::vector<Sharers::Share>;

constexpr Capacity kSix{6.0, Sharing::kShared};

TEST(FullLevel, SharesWhatThoseThatAreLimitedElsewhereLeave) {
  const Shares shares{{.weight = 1.0, .elsewhere = 1.0, .flow = 0, .hop = 0},
                      {.weight = 2.0, .elsewhere = kUnlimited, .flow = 1, .hop = 0}};
  for (const double near : {0.5, 2.5, 9.0, kUnlimited}) {
    const Full full = full_level(kSix, shares, near);
    EXPECT_EQ(full.level, 2.5);
    EXPECT_EQ(full.weight, 2.0);
  }
}

TEST(FullLevel, OfALinkThatIsNeverFullIsInfiniteAndTheRestIsToSpare) {
  const Shares shares{{.weight = 2.0, .elsewhere = 2.0, .flow = 0, .hop = 0}};
  const Full full = full_level(kSix, shares, kUnlimited);
  EXPECT_EQ(full.level, kUnlimited);
  EXPECT_EQ(full.spare, 2.0);
  EXPECT_EQ(full_level(kSix, {}, 1.0).spare, 6.0);
}

TEST(FullLevel, OfAFatpipeIsThatOfTheHeaviestThatIsNotLimitedElsewhere) {
  const Shares shares{{.weight = 3.0, .elsewhere = 1.0, .flow = 0, .hop = 0},
                      {.weight = 2.0, .elsewhere = 9.0, .flow = 1, .hop = 0},
                      {.weight = 1.0, .elsewhere = 9.0, .flow = 2, .hop = 0}};
  EXPECT_EQ(full_level({6.0, Sharing::kFatpipe}, shares, kUnlimited).level, 3.0);
}

// The dumb twin: halves an interval until what the flows take at its middle is the bandwidth.
double bisected(double bandwidth, const Shares& shares) {
  const auto taken = [&](double level) {
    double sum = 0.0;
    for (const Sharers::Share& share : shares) {
      sum += share.weight * std::min(level, share.elsewhere);
    }
    return sum;
  };
  if (taken(kUnlimited) <= bandwidth) {
    return kUnlimited;
  }
  double low = 0.0;
  double high = 1e12;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (taken(middle) < bandwidth ? low : high) = middle;
  }
  return high;
}

TEST(FullLevel, AgreesWithBisectionWhereverItLooksFirst) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 0);
    Shares shares(1 + rng.below(20));
    for (Sharers::Share& share : shares) {
      share.weight = std::pow(10.0, 3 * rng.uniform());
      share.elsewhere = rng.below(4) == 0 ? kUnlimited : std::pow(10.0, 3 * rng.uniform());
    }
    const double bandwidth = std::pow(10.0, 7 * rng.uniform());
    const double expected = bisected(bandwidth, shares);
    for (const double near : {1e-3, std::pow(10.0, 3 * rng.uniform()), 1e9, kUnlimited}) {
      const Full full = full_level({bandwidth, Sharing::kShared}, shares, near);
      ASSERT_TRUE(full.level == expected || std::abs(full.level - expected) <= 1e-9 * expected)
          << full.level << " is not " << expected;
    }
  }
}

}  // namespace
}  // namespace outpace::links

#include "collective/neighbour.h"

#include <map>

#include <gtest/gtest.h>

namespace outpace::collective {
namespace {

TEST(Neighbours, WhoAsksMeetsEachOfTheOtherSideAboutAsOften) {
  for (const std::uint32_t size : {2U, 3U, 8U, 9U}) {
    SCOPED_TRACE(size);
    Neighbours neighbours(0, size, 7);
    std::map<std::uint32_t, int> met;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      ++met[neighbours.next()];
    }
    EXPECT_EQ(met.size(), size / 2);
    const double expected = static_cast<double>(kDraws) / (size / 2);
    for (const auto& [rank, times] : met) {
      EXPECT_LT(rank, size);
      EXPECT_EQ(side_of(rank), Side::kAnswers);
      // Six standard deviations of a binomial count, at most.
      EXPECT_NEAR(times, expected, 6.0 * 71.0) << rank;
    }
  }
}

TEST(Neighbours, DependOnSeedAndRankAlone) {
  const auto draws = [](std::uint32_t rank, std::uint64_t seed) {
    Neighbours neighbours(rank, 32, seed);
    std::uint64_t all = 0;
    for (int i = 0; i < 12; ++i) {
      all = all * 32 + neighbours.next();
    }
    return all;
  };
  EXPECT_EQ(draws(4, 1), draws(4, 1));
  EXPECT_NE(draws(4, 1), draws(6, 1));
  EXPECT_NE(draws(4, 1), draws(4, 2));
}

}  // namespace
}  // namespace outpace::collective

#include "invariants/positions.h"

#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::invariants {
namespace {

TEST(Positions, AreTakenOnceUntilTheyAreGivenBack) {
  Positions positions;
  EXPECT_TRUE(positions.take({0, 0, 4}));
  EXPECT_TRUE(positions.take({0, 8, 12}));
  EXPECT_FALSE(positions.take({0, 3, 5}));
  EXPECT_FALSE(positions.take({0, 6, 9}));
  EXPECT_TRUE(positions.take({1, 0, 4})) << "another epoch";
  EXPECT_TRUE(positions.take({0, 4, 8}));
  EXPECT_EQ(positions.size(), 16U);
  EXPECT_FALSE(positions.give_back({0, 10, 13}));
  EXPECT_TRUE(positions.give_back({0, 2, 10}));
  EXPECT_FALSE(positions.give_back({0, 2, 3}));
  EXPECT_TRUE(positions.take({0, 2, 10}));
}

TEST(Positions, AgreeWithASetOfEachPosition) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, 0);
    Positions positions;
    std::set<std::pair<std::uint64_t, std::uint64_t>> each;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t epoch = rng.below(2);
      const std::uint64_t begin = rng.below(30);
      const std::uint64_t end = begin + 1 + rng.below(6);
      const bool takes = rng.below(2) == 0;
      std::uint64_t there = 0;
      for (std::uint64_t at = begin; at < end; ++at) {
        there += each.contains({epoch, at}) ? 1U : 0U;
      }
      const protocol::Range range{epoch, begin, end};
      const bool done = takes ? positions.take(range) : positions.give_back(range);
      ASSERT_EQ(done, takes ? there == 0 : there == end - begin) << "seed " << seed;
      for (std::uint64_t at = begin; at < end && done; ++at) {
        if (takes) {
          each.insert({epoch, at});
        } else {
          each.erase({epoch, at});
        }
      }
      ASSERT_EQ(positions.size(), each.size()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace outpace::invariants

#include "base/permutation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace outpace {
namespace {

void expect_bijective(std::uint64_t size, std::uint64_t seed) {
  const Permutation order(size, seed, 3);
  std::vector<bool> seen(size);
  for (std::uint64_t position = 0; position < size; ++position) {
    const std::uint64_t element = order(position);
    ASSERT_LT(element, size) << "size " << size << ", seed " << seed;
    ASSERT_FALSE(seen[element]) << "size " << size << ", seed " << seed;
    seen[element] = true;
  }
}

TEST(Permutation, IsBijectiveForEverySmallSize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      expect_bijective(size, seed);
    }
  }
}

TEST(Permutation, IsBijectiveForLargeSizes) {
  for (const std::uint64_t size : {1023U, 1024U, 1025U, 60000U, 65536U, 65537U, 1000003U}) {
    expect_bijective(size, 1);
  }
}

TEST(Permutation, ReachesEveryPlaceOfSizesThatNoMemoryHolds) {
  for (const std::uint64_t size : {std::uint64_t{1} << 40U, std::uint64_t{1} << 62U}) {
    const Permutation order(size, 1, 0);
    std::set<std::uint64_t> elements;
    std::uint64_t upper = 0;
    for (std::uint64_t position = 0; position < 10000; ++position) {
      const std::uint64_t element = order(position);
      ASSERT_LT(element, size);
      elements.insert(element);
      upper += element >= size / 2 ? 1 : 0;
    }
    EXPECT_EQ(elements.size(), 10000U);
    EXPECT_GT(upper, 4750U);  // 5 standard deviations of 50.
    EXPECT_LT(upper, 5250U);
    EXPECT_LT(order(size - 1), size);
  }
}

TEST(Permutation, GivesTheSameOrderOnEveryMachine) {
  const Permutation small(10, 1, 0);
  const std::vector<std::uint64_t> expected{3, 7, 1, 5, 0, 9, 4, 8, 6, 2};
  for (std::uint64_t position = 0; position < 10; ++position) {
    EXPECT_EQ(small(position), expected[position]);
  }
  const Permutation large(1000000000000U, 1, 0);
  EXPECT_EQ(large(0), 964121766447U);
  EXPECT_EQ(large(1), 396697596484U);
  EXPECT_EQ(large(2), 504710510253U);
}

TEST(Permutation, DiffersFromEpochToEpochAndFromSeedToSeed) {
  constexpr std::uint64_t kSize = 1000;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const Permutation order(kSize, 1, epoch);
    const Permutation next_epoch(kSize, 1, epoch + 1);
    const Permutation next_seed(kSize, 2, epoch);
    int same_epoch = 0;
    int same_seed = 0;
    for (std::uint64_t position = 0; position < kSize; ++position) {
      same_epoch += order(position) == next_epoch(position) ? 1 : 0;
      same_seed += order(position) == next_seed(position) ? 1 : 0;
    }
    // Two random orders agree in one place on average, in ten or more once in ten million.
    EXPECT_LT(same_epoch, 10) << "epoch " << epoch;
    EXPECT_LT(same_seed, 10) << "epoch " << epoch;
  }
}

// Over many epochs, each position meets each element equally often.
TEST(Permutation, PutsEveryElementEverywhereEquallyOften) {
  constexpr std::uint64_t kEpochs = 20000;
  for (const std::size_t size : {2U, 3U, 5U, 6U, 10U, 17U}) {
    std::vector<int> counts(size * size);
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const Permutation order(size, 7, epoch);
      for (std::size_t position = 0; position < size; ++position) {
        ++counts[position * size + order(position)];
      }
    }
    const double expected = static_cast<double>(kEpochs) / static_cast<double>(size);
    double chi_squared = 0.0;
    for (const int count : counts) {
      chi_squared += (count - expected) * (count - expected) / expected;
    }
    // Rows and columns sum to kEpochs, and (size - 1) / size of the variance is left in a cell, so
    // the statistic times (size - 1) / size is chi-squared with (size - 1)^2 degrees of freedom:
    // mean f, standard deviation sqrt(2 f). Six of those, for the tail of small f.
    const auto places = static_cast<double>(size);
    const double freedom = (places - 1) * (places - 1);
    EXPECT_LT(chi_squared * (places - 1) / places, freedom + 6 * std::sqrt(2 * freedom))
        << "size " << size;
  }
}

// Neighbours in the order are not neighbours in the data, or a mini-batch would be a run of it.
TEST(Permutation, SeparatesNeighbours) {
  constexpr std::uint64_t kSize = 10000;
  int near = 0;
  double products = 0.0;
  const Permutation order(kSize, 5, 0);
  for (std::uint64_t position = 0; position + 1 < kSize; ++position) {
    const auto here = static_cast<double>(order(position)) / kSize - 0.5;
    const auto next = static_cast<double>(order(position + 1)) / kSize - 0.5;
    products += here * next;
    near += std::abs(here - next) < 0.005 ? 1 : 0;
  }
  EXPECT_NEAR(near, 100, 50);                 // 1% of the pairs, 5 standard deviations.
  EXPECT_NEAR(products / kSize, 0.0, 0.005);  // The correlation of a pair is 0, times 1/12.
}

TEST(PermutationDeathTest, WantsAPositionInside) {
  const Permutation order(5, 0, 0);
  EXPECT_DEATH(static_cast<void>(order(5)), "CHECK");
  EXPECT_DEATH(Permutation(0, 0, 0), "CHECK");
}

}  // namespace
}  // namespace outpace

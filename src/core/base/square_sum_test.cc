#include "base/square_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace {
namespace {

std::vector<float> random_numbers(Rng& rng, std::size_t size) {
  std::vector<float> numbers(size);
  for (float& number : numbers) {
    number = static_cast<float>(rng.normal());
  }
  return numbers;
}

// The definition.
double sum_of(const std::vector<float>& numbers) {
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto value = static_cast<double>(numbers[i]);
    sums.at(i % 8) += value * value;
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

TEST(SquareSum, IsTheSameToTheBitHoweverTheNumbersAreDivided) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, 0);
    const std::vector<float> numbers = random_numbers(rng, rng.below(5000));
    SquareSum sum;
    for (std::size_t begin = 0; begin < numbers.size();) {
      const std::size_t step = std::min<std::size_t>(rng.below(700), numbers.size() - begin);
      sum.add(std::span(numbers).subspan(begin, step));
      begin += step;
    }
    EXPECT_EQ(sum.total(), sum_of(numbers));
  }
}

TEST(SquareSum, OfACopyIsThatOfTheNumbers) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 2047U, 2048U, 2049U, 10'000U}) {
    Rng rng(size, 0);
    const std::vector<float> numbers = random_numbers(rng, size);
    const SummedCopy copy = copy_and_sum(numbers);
    EXPECT_EQ(copy.numbers, numbers);
    EXPECT_EQ(copy.squares, sum_of(numbers));
  }
}

TEST(SquareSum, IsFiniteExactlyIfEveryNumberIs) {
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(copy_and_sum(std::vector<float>(5000, kMost)).squares));
  for (const std::size_t at : {0U, 7U, 8U, 2500U, 4999U}) {
    for (const float bad : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
      std::vector<float> numbers(5000, 1.0F);
      numbers[at] = bad;
      EXPECT_FALSE(std::isfinite(copy_and_sum(numbers).squares)) << at;
    }
  }
}

}  // namespace
}  // namespace outpace

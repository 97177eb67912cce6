#include "base/rng.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace outpace {
namespace {

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
  double third = 0.0;   // Central.
  double fourth = 0.0;  // Central.
};

Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments found;
  for (const double value : values) {
    found.mean += value / n;
  }
  for (const double value : values) {
    const double off = value - found.mean;
    found.variance += off * off / n;
    found.third += off * off * off / n;
    found.fourth += off * off * off * off / n;
  }
  return found;
}

constexpr int kDraws = 1000000;

template <typename Draw>
std::vector<double> draws(Draw draw) {
  Rng rng(42, 7);
  std::vector<double> values;
  values.reserve(kDraws);
  for (int i = 0; i < kDraws; ++i) {
    values.push_back(draw(rng));
  }
  return values;
}

// The golden values below were computed by a second implementation with whole numbers of any size,
// checked against the published test vector of xoshiro256++ for the state 1, 2, 3, 4.
TEST(Rng, GivesTheSameBitsOnEveryMachine) {
  Rng zero(0, 0);
  EXPECT_EQ(zero.next(), 0x86b94cb331f8a588U);
  EXPECT_EQ(zero.next(), 0x2f64bc23033633eeU);
  EXPECT_EQ(zero.next(), 0xdb42157c2992cba8U);
  EXPECT_EQ(zero.next(), 0xe0f52b8c71ba1189U);
  Rng other(1, 2);
  EXPECT_EQ(other.next(), 0x0d3c7b732c298747U);
  EXPECT_EQ(other.next(), 0x375ffc1d87432b3bU);
  EXPECT_EQ(other.next(), 0xac011c9759445c32U);
}

TEST(Rng, GivesTheSameNumbersOnEveryMachine) {
  Rng uniform(0, 0);
  EXPECT_EQ(uniform.uniform(), 0.5262649476516992);
  EXPECT_EQ(uniform.uniform(), 0.1851308427314613);
  EXPECT_EQ(uniform.uniform(), 0.8564771106844759);
  Rng below(0, 0);
  for (const std::uint64_t digit : {2U, 6U, 8U, 5U, 8U, 8U, 6U, 4U}) {
    EXPECT_EQ(below.below(10), digit);
  }
}

TEST(Rng, GivesTheSameVariatesUpToTheLastDigits) {
  Rng exponential(0, 0);
  EXPECT_NEAR(exponential.exponential(), 0.7471070748546652, 1e-14);
  EXPECT_NEAR(exponential.exponential(), 0.20472772185850482, 1e-14);
  Rng normal(0, 0);
  EXPECT_NEAR(normal.normal(), 0.4845434040719496, 1e-14);
  EXPECT_NEAR(normal.normal(), 1.1222441085965644, 1e-14);
}

TEST(Mix, IsTheFinaliserOfSplitMix64) {
  // The published generator's first two outputs from seed 0.
  EXPECT_EQ(mix(0x9e3779b97f4a7c15U), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix(2 * 0x9e3779b97f4a7c15U), 0x6e789e6aa1b965f4U);
}

TEST(Rng, HasAStreamOfItsOwnForEverySeedAndStream) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t stream = 0; stream < 100; ++stream) {
      firsts.insert(Rng(seed, stream).next());
    }
  }
  EXPECT_EQ(firsts.size(), 10000U);
}

TEST(Rng, HasNeighbouringStreamsThatDoNotCorrelate) {
  Rng first(3, 0);
  Rng second(3, 1);
  Rng third(4, 0);
  double streams = 0.0;
  double seeds = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = first.uniform() - 0.5;
    streams += value * (second.uniform() - 0.5) / kDraws;
    seeds += value * (third.uniform() - 0.5) / kDraws;
  }
  // A product of two has the standard deviation 1/12; 5 standard errors.
  EXPECT_NEAR(streams, 0.0, 5.0 / 12.0 / std::sqrt(kDraws));
  EXPECT_NEAR(seeds, 0.0, 5.0 / 12.0 / std::sqrt(kDraws));
}

TEST(Rng, ContinuesTheSameFromACopy) {
  Rng rng(9, 9);
  static_cast<void>(rng.normal());  // The other half of the pair is part of the state.
  Rng copy = rng;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(rng.normal(), copy.normal());
  }
}

// The tolerances are five standard errors of each moment at a million draws, rounded up.

TEST(Rng, HasTheMomentsOfTheUniformDistribution) {
  const auto values = draws([](Rng& rng) { return rng.uniform(); });
  const Moments found = moments(values);
  EXPECT_NEAR(found.mean, 1.0 / 2.0, 0.0015);
  EXPECT_NEAR(found.variance, 1.0 / 12.0, 0.0004);
  EXPECT_NEAR(found.third, 0.0, 0.0003);
  EXPECT_NEAR(found.fourth, 1.0 / 80.0, 0.0001);
  for (const double value : values) {
    ASSERT_TRUE(value >= 0.0 && value < 1.0);
  }
}

TEST(Rng, HasTheMomentsOfTheNormalDistribution) {
  const auto values = draws([](Rng& rng) { return rng.normal(); });
  const Moments found = moments(values);
  EXPECT_NEAR(found.mean, 0.0, 0.005);
  EXPECT_NEAR(found.variance, 1.0, 0.008);
  EXPECT_NEAR(found.third, 0.0, 0.02);
  EXPECT_NEAR(found.fourth, 3.0, 0.05);
  double pairs = 0.0;  // The two halves of a Box-Muller pair are independent.
  for (std::size_t i = 0; i < values.size(); i += 2) {
    pairs += values[i] * values[i + 1] * 2.0 / kDraws;
  }
  EXPECT_NEAR(pairs, 0.0, 0.0075);
}

TEST(Rng, HasTheMomentsOfTheExponentialDistribution) {
  const auto values = draws([](Rng& rng) { return rng.exponential(); });
  const Moments found = moments(values);
  EXPECT_NEAR(found.mean, 1.0, 0.005);
  EXPECT_NEAR(found.variance, 1.0, 0.015);
  EXPECT_NEAR(found.third, 2.0, 0.1);
  for (const double value : values) {
    ASSERT_GE(value, 0.0);
  }
}

TEST(Rng, DrawsBelowABoundWithoutBias) {
  constexpr std::size_t kBound = 7;
  Rng rng(11, 0);
  std::array<int, kBound> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = rng.below(kBound);
    ASSERT_LT(value, kBound);
    ++counts[value];
  }
  const double expected = static_cast<double>(kDraws) / kBound;
  double chi_squared = 0.0;
  for (const int count : counts) {
    chi_squared += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_squared, 22.5);  // 6 degrees of freedom: 1 in 1,000.
}

TEST(Rng, DrawsBelowTheExtremeBounds) {
  Rng rng(12, 0);
  int upper = 0;
  constexpr std::uint64_t kHuge = 3U * (std::uint64_t{1} << 62U);
  for (int i = 0; i < 10000; ++i) {
    EXPECT_EQ(rng.below(1), 0U);
    const std::uint64_t value = rng.below(kHuge);
    ASSERT_LT(value, kHuge);
    upper += value >= kHuge / 2 ? 1 : 0;
  }
  // A remainder without redrawing would put two thirds of the values into the lower third.
  EXPECT_NEAR(upper, 5000, 250);
}

TEST(RngDeathTest, HasNothingBelowZero) {
  Rng rng(0, 0);
  EXPECT_DEATH(static_cast<void>(rng.below(0)), "CHECK");
}

}  // namespace
}  // namespace outpace

#include "worker/slices.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/rng.h"

namespace outpace::worker {
namespace {

using Sent = std::optional<Slice>;

TEST(Slices, GoFromTheEndAsSoonAsTheyAreLargeEnough) {
  Slices slices(100, 30);
  EXPECT_EQ(slices.add(90, 100), Sent());
  EXPECT_EQ(slices.add(60, 90), Sent({.begin = 60, .end = 100}));
  EXPECT_EQ(slices.add(40, 60), Sent());
  EXPECT_EQ(slices.unsent(), 60U);
  EXPECT_EQ(slices.add(10, 40), Sent({.begin = 10, .end = 60}));
  EXPECT_EQ(slices.add(0, 10), Sent()) << "the front goes with the push";
  EXPECT_EQ(slices.unsent(), 10U);
}

TEST(Slices, TheFrontIsLeftForThePushEvenIfItIsLarge) {
  Slices slices(100, 30);
  EXPECT_EQ(slices.add(0, 100), Sent());
  EXPECT_EQ(slices.unsent(), 100U);
  EXPECT_FALSE(slices.begun());
}

TEST(Slices, WhatIsFinalEarlyWaitsForWhatComesBehindIt) {
  Slices slices(100, 10);
  EXPECT_EQ(slices.add(50, 60), Sent());
  EXPECT_EQ(slices.add(20, 30), Sent());
  EXPECT_EQ(slices.add(60, 100), Sent({.begin = 50, .end = 100}));
  EXPECT_EQ(slices.add(30, 50), Sent({.begin = 20, .end = 50}));
}

TEST(Slices, NothingIsSlicedIfTheLeastIsZero) {
  Slices slices(100, 0);
  EXPECT_EQ(slices.add(50, 100), Sent());
  EXPECT_EQ(slices.unsent(), 100U);
}

TEST(Slices, ANewGradientStartsAgain) {
  Slices slices(100, 10);
  EXPECT_EQ(slices.add(50, 100), Sent({.begin = 50, .end = 100}));
  EXPECT_TRUE(slices.begun());
  slices.restart();
  EXPECT_FALSE(slices.begun());
  EXPECT_EQ(slices.add(80, 100), Sent({.begin = 80, .end = 100}));
}

TEST(Slices, RefusesNumbersThatAreNoneOrWereFinalBefore) {
  const auto refusal = [](std::size_t begin, std::size_t end) {
    Slices slices(100, 10);
    (void)slices.add(80, 100);
    (void)slices.add(40, 50);
    return refusal_of([&] { (void)slices.add(begin, end); });
  };
  EXPECT_EQ(refusal(10, 10), "numbers [10, 10) of the gradient are none; it has 100");
  EXPECT_EQ(refusal(60, 101), "numbers [60, 101) of the gradient are none; it has 100");
  EXPECT_EQ(refusal(70, 81), "numbers [70, 81) of the gradient were final before");
  EXPECT_EQ(refusal(45, 46), "numbers [45, 46) of the gradient were final before");
  EXPECT_EQ(refusal(30, 41), "numbers [30, 41) of the gradient were final before");
  EXPECT_EQ(refusal(30, 60), "numbers [30, 60) of the gradient were final before");
  EXPECT_EQ(refusal(49, 60), "numbers [49, 60) of the gradient were final before");
  EXPECT_EQ(refusal(50, 80), "accepted");
}

// In any order, slices are adjacent from the end, and none leaves before all of it is final.
TEST(Slices, AreAdjacentAndFinalInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, 0);
    std::vector<std::pair<std::size_t, std::size_t>> tensors;
    std::size_t numbers = 0;
    for (std::uint64_t i = rng.below(12) + 1; i > 0; --i) {
      const std::size_t size = rng.below(20) + 1;
      tensors.emplace_back(numbers, numbers + size);
      numbers += size;
    }
    for (std::size_t i = tensors.size(); i > 1; --i) {
      std::swap(tensors[i - 1], tensors[rng.below(i)]);
    }
    Slices slices(numbers, rng.below(30));
    std::vector<bool> is_final(numbers);
    std::size_t expected = numbers;
    for (const auto& [begin, end] : tensors) {
      std::fill(is_final.begin() + static_cast<std::ptrdiff_t>(begin),
                is_final.begin() + static_cast<std::ptrdiff_t>(end),
                true);
      if (const auto slice = slices.add(begin, end)) {
        EXPECT_EQ(slice->end, expected);
        EXPECT_GE(slice->begin, 1U);
        expected = slice->begin;
        EXPECT_TRUE(std::all_of(is_final.begin() + static_cast<std::ptrdiff_t>(slice->begin),
                                is_final.end(),
                                [](bool one) { return one; }));
      }
    }
    EXPECT_EQ(slices.unsent(), expected);
  }
}

}  // namespace
}  // namespace outpace::worker

#include "sim/redraws.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "sim/sample_test.h"

namespace outpace::sim {
namespace {

Draw at_iteration(std::uint64_t iteration) {
  return {.seed = 1, .worker = WorkerId{0}, .rank = 0, .iteration = iteration, .start = Time{}};
}

Draw at_time(double seconds) {
  return {.seed = 1,
          .worker = WorkerId{0},
          .rank = 0,
          .iteration = 0,
          .start = Time{from_seconds(seconds)}};
}

// The fraction of many processes that have had no redraw between the two draws.
constexpr std::uint32_t kProcesses = 40'000;
double unchanged(const Redraws& redraws, const Draw& before, const Draw& after) {
  std::uint32_t same = 0;
  for (std::uint64_t process = 0; process < kProcesses; ++process) {
    const std::uint64_t name = key(5, process);
    same += redraws.last(name, before) == redraws.last(name, after) ? 1U : 0U;
  }
  return static_cast<double>(same) / kProcesses;
}
double bound(double probability) {
  return kDeviations * std::sqrt(probability * (1.0 - probability) / kProcesses);
}

TEST(Redraws, ByTimeLastForAnExponentialWhileFromAnyMomentOn) {
  const Redraws redraws({.axis = Axis::kTime, .mean = 10.0});
  for (const double begin : {0.0, 3.0, 9.99, 12345.0}) {
    for (const double lag : {0.1, 4.0, 10.0, 25.0}) {
      const double expected = std::exp(-lag / 10.0);
      EXPECT_NEAR(
          unchanged(redraws, at_time(begin), at_time(begin + lag)), expected, bound(expected))
          << begin << " + " << lag;
    }
  }
}

TEST(Redraws, ByIterationLastForAGeometricWhileFromAnyIterationOn) {
  for (const double mean : {1.5, 2.0, 7.3}) {
    const Redraws redraws({.axis = Axis::kIteration, .mean = mean});
    for (const std::uint64_t begin : {0U, 1U, 6U, 7U, 8U, 1000U}) {
      for (const std::uint64_t lag : {1U, 2U, 9U}) {
        const double expected = std::pow(1.0 - 1.0 / mean, static_cast<double>(lag));
        EXPECT_NEAR(unchanged(redraws, at_iteration(begin), at_iteration(begin + lag)),
                    expected,
                    bound(expected))
            << mean << ": " << begin << " + " << lag;
      }
    }
  }
}

TEST(Redraws, EveryIterationIsARedrawIfEachLastsForOne) {
  const Redraws redraws({.axis = Axis::kIteration, .mean = 1.0});
  std::set<std::uint64_t> keys;
  for (std::uint64_t iteration = 0; iteration < 1000; ++iteration) {
    keys.insert(redraws.last(7, at_iteration(iteration)));
  }
  EXPECT_EQ(keys.size(), 1000U);
}

TEST(Redraws, WhatHasGoneNeverComesBackAndAnyOrderOfAskingGivesTheSame) {
  for (const Axis axis : {Axis::kTime, Axis::kIteration}) {
    const Redraws redraws({.axis = axis, .mean = 3.0});
    const auto draw = [&](std::uint64_t i) {
      return axis == Axis::kTime ? at_time(static_cast<double>(i) * 0.1) : at_iteration(i);
    };
    std::vector<std::uint64_t> forwards;
    std::set<std::uint64_t> distinct;
    std::uint64_t changes = 1;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      forwards.push_back(redraws.last(key(3, 1), draw(i)));
      changes += i > 0 && forwards[i] != forwards[i - 1] ? 1U : 0U;
      distinct.insert(forwards[i]);
    }
    EXPECT_EQ(distinct.size(), changes);
    EXPECT_GT(changes, 50U);  // About 100 and 1000 are expected.
    for (std::uint64_t i = 3000; i-- > 0;) {
      ASSERT_EQ(redraws.last(key(3, 1), draw(i)), forwards[i]);
    }
  }
}

}  // namespace
}  // namespace outpace::sim

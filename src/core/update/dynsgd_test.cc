#include "update/dynsgd.h"

#include <cfloat>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "update/correction_twin_test.h"

namespace outpace::update {
namespace {

void release(DynSgd& rule, std::uint32_t worker) {
  rule.released(WorkerId{worker}, nullptr);
}
float pushed(DynSgd& rule, std::uint32_t worker, float gradient, std::uint32_t examples = 1) {
  return corrected(rule, worker, {gradient}, {0}, examples)[0];
}

// Jiang et al. 2017: the d-th gradient of a clock brings its mean to that of d.
TEST(DynSgd, AddsUpToTheMeanOfAClock) {
  DynSgd rule(1);
  for (const std::uint32_t worker : {0U, 1U, 2U}) {
    release(rule, worker);
  }
  EXPECT_EQ(pushed(rule, 0, 6), 6.0F);   // Mean 6.
  EXPECT_EQ(pushed(rule, 1, 10), 2.0F);  // Mean 8.
  EXPECT_EQ(pushed(rule, 2, 2), -2.0F);  // Mean 6.
}

TEST(DynSgd, CountsALateGradientByHowManyCameBefore) {
  DynSgd rule(1);
  constexpr std::uint32_t kLate = 9;
  for (const std::uint32_t worker : {0U, 1U, 2U, kLate}) {
    release(rule, worker);
  }
  for (const std::uint32_t worker : {0U, 1U, 2U}) {
    EXPECT_EQ(pushed(rule, worker, 0), 0.0F);
    release(rule, worker);
  }
  EXPECT_EQ(pushed(rule, 0, 5), 5.0F) << "the first of the next clock";
  EXPECT_EQ(pushed(rule, kLate, 8), 2.0F) << "the fourth of the first one";
}

TEST(DynSgd, IsPlainSgdForOneWorker) {
  DynSgd rule(1);
  for (const float gradient : {3.0F, -1.0F, 0.0F, FLT_MAX}) {
    release(rule, 0);
    EXPECT_EQ(pushed(rule, 0, gradient), gradient);
    EXPECT_EQ(rule.added_up(), 1.0);
    rule.stepped({}, {});
    EXPECT_EQ(rule.added_up(), 0.0);
  }
}

TEST(DynSgd, WeighsUnequalMiniBatchesByTheirExamples) {
  DynSgd rule(1);
  release(rule, 0);
  release(rule, 1);
  EXPECT_EQ(pushed(rule, 0, 4, 24), 4.0F);
  EXPECT_EQ(pushed(rule, 1, 8, 8), 1.0F);  // (8 - 4) * 8 / 32
}

TEST(DynSgd, LetsALateComerJoinTheNewestClock) {
  DynSgd rule(1);
  release(rule, 0);
  release(rule, 1);
  (void)pushed(rule, 0, 2);
  release(rule, 0);
  release(rule, 5);  // Late: with 0 in the second clock.
  EXPECT_EQ(pushed(rule, 5, 4), 4.0F);
  EXPECT_EQ(pushed(rule, 0, 8), 2.0F);
  EXPECT_EQ(pushed(rule, 1, 4), 1.0F);
}

TEST(DynSgd, PassesOverReleasesWithoutAGradient) {
  DynSgd rule(1);
  for (const std::uint32_t worker : {0U, 1U, 2U}) {
    release(rule, worker);
  }
  rule.forget(WorkerId{1});
  rule.forget(WorkerId{1});
  release(rule, 2);  // Given up, and released again.
  EXPECT_EQ(pushed(rule, 0, 6), 6.0F);
  EXPECT_EQ(pushed(rule, 2, 2), -2.0F);
  EXPECT_DEATH(pushed(rule, 1, 1), "CHECK");
}

TEST(DynSgd, StaysFinite) {
  DynSgd rule(1);
  for (const std::uint32_t worker : {0U, 1U, 2U}) {
    release(rule, worker);
  }
  (void)pushed(rule, 0, -FLT_MAX);
  EXPECT_EQ(pushed(rule, 1, FLT_MAX, 1000), FLT_MAX);
  EXPECT_TRUE(std::isfinite(pushed(rule, 2, -FLT_MAX, 1000)));
}

// The plain one keeps every gradient of every clock and takes their means again and again.
TEST(DynSgd, CorrectsLikeAPlainImplementation) {
  constexpr std::uint64_t kSeed = 20170514;
  Rng rng(kSeed, 0);
  DynSgd rule(1);
  std::map<std::uint64_t, std::vector<double>> gradients;  // By clock.
  std::map<std::uint32_t, std::uint64_t> clock_of;         // By worker.
  std::uint64_t newest = 0;
  const auto mean = [](const std::vector<double>& of) {
    double sum = 0.0;
    for (const double gradient : of) {
      sum += gradient;
    }
    return of.empty() ? 0.0 : sum / static_cast<double>(of.size());
  };
  for (int t = 0; t < 1000; ++t) {
    // Worker 0 comes most often, 7 hardly ever.
    const auto worker = static_cast<std::uint32_t>(rng.below(1 + rng.below(8)));
    if (clock_of.contains(worker)) {
      std::vector<double>& clock = gradients[clock_of[worker]];
      const double before = mean(clock);
      const auto gradient = static_cast<float>(rng.normal());
      clock.push_back(static_cast<double>(gradient));
      // Numbers of about 1, rounded once for each of the clock's at most 8 gradients and again.
      ASSERT_NEAR(pushed(rule, worker, gradient), mean(clock) - before, 4 * 16 * FLT_EPSILON)
          << "gradient " << t << ", seed " << kSeed;
      newest = std::max(newest, clock_of[worker] + 1);
    }
    release(rule, worker);
    clock_of[worker] = newest;
  }
}

}  // namespace
}  // namespace outpace::update

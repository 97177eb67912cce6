#include "throughput/runtime_computing.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/order_statistics_test.h"
#include "throughput/coarse.h"

namespace outpace::throughput {
namespace {

sim::Runtimes runtimes_of(const char* text, std::uint32_t workers) {
  return sim::Runtimes::parse(text, {.workers = workers, .seed = 1, .read_file = {}});
}

TEST(RuntimeComputing, HasTheMeansAndTheFactors) {
  const Computing computing = computing_of_runtimes(
      runtimes_of("2*gamma(mean=100ms,cv=0.5),constant(300ms)", 3), {1.0, 2.0, 1.0});
  ASSERT_EQ(computing.size(), 1);
  EXPECT_NEAR(computing[0].mean[0], 0.1, 0.003);
  EXPECT_NEAR(computing[0].mean[1], 0.2, 0.006);
  EXPECT_NEAR(computing[0].mean[2], 0.3, 1e-9);
}

// The expected slowest of eight, by its integral.
TEST(RuntimeComputing, ARoundTakesTheExpectedOrderStatistic) {
  const sim::Runtimes runtimes = runtimes_of("exponential(mean=100ms,shift=50ms)", 8);
  const Computing computing = computing_of_runtimes(runtimes, std::vector<double>(8, 1.0));
  const auto cdf = [&](double t) { return *runtimes.classes()[0].distribution->cdf(t); };
  for (const std::uint32_t cutoff : {1U, 4U, 8U}) {
    const double rate =
        served_rate({BarrierKind::kCutoff, cutoff}, {}, computing, Heuristics::kWithout);
    const double expected = sim::expected_order_statistic(cdf, {.k = cutoff, .n = 8});
    EXPECT_NEAR(cutoff / rate, expected, 0.04 * expected) << cutoff;
  }
}

// Half of the time each worker is ten times as slow, for some hundred mini-batches: it does
// (10 + 1) / 2 a second, not the 1 / 0.55 of the mean runtime at a time.
TEST(RuntimeComputing, SlowTimesAreNotAveragedWithFastOnes) {
  const sim::Runtimes runtimes =
      runtimes_of("markov(fast=constant(100ms),slow=constant(1s),fast_for=60s,slow_for=60s)", 4);
  const Computing computing = computing_of_runtimes(runtimes, std::vector<double>(4, 1.0));
  EXPECT_GT(computing.size(), 1);
  const double rate = served_rate({BarrierKind::kNone}, {}, computing, Heuristics::kWith);
  EXPECT_NEAR(rate, 4 * 5.5, 0.12 * 4 * 5.5);
}

}  // namespace
}  // namespace outpace::throughput

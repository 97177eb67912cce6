#include "sim/runtimes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "sim/order_statistics_test.h"

namespace outpace::sim {
namespace {

const ReadFile kNoFiles = [](const std::string& name) -> std::string {
  throw usage_error(name + ": no such file");
};

Runtimes parse(const std::string& text, std::uint32_t workers, std::uint64_t seed = 1) {
  return Runtimes::parse(text, {.workers = workers, .seed = seed, .read_file = kNoFiles});
}

std::string runtimes_refusal(const std::string& text, std::uint32_t workers) {
  return refusal_of([&] { std::ignore = parse(text, workers); });
}

double at(const Runtimes& runtimes, std::uint32_t worker, std::uint64_t iteration) {
  return runtimes.at(WorkerId{worker}, iteration, Time{});
}

TEST(Runtimes, ClassesTakeTheWorkersInOrder) {
  const Runtimes runtimes = parse("2*constant(1s), constant(2s), 1*constant(3s)", 6);
  EXPECT_EQ(runtimes.workers(), 6U);
  std::vector<double> seconds;
  for (std::uint32_t worker = 0; worker < 6; ++worker) {
    seconds.push_back(at(runtimes, worker, 0));
  }
  EXPECT_EQ(seconds, (std::vector<double>{1, 1, 2, 2, 2, 3}));
  EXPECT_EQ(runtimes.classes()[1].workers, 3U);
  EXPECT_EQ(runtimes.classes()[1].distribution->mean(), 2.0);
  EXPECT_EQ(at(parse("constant(1s)", 1'000'000), 999'999, 0), 1.0);
}

TEST(Runtimes, RefusesCountsThatAreNotThoseOfTheWorkers) {
  EXPECT_EQ(runtimes_refusal("2*constant(1s),2*constant(2s)", 5),
            "runtime '2*constant(1s),2*constant(2s)': its classes have 4 workers, but there are "
            "5; a class without a count takes the rest");
  EXPECT_EQ(runtimes_refusal("5*constant(1s),constant(2s)", 5),
            "runtime '5*constant(1s),constant(2s)': its classes have 5 workers and the rest, but "
            "there are 5; a class without a count takes the rest");
  EXPECT_EQ(runtimes_refusal("constant(1s),constant(2s)", 5),
            "runtime 'constant(1s),constant(2s)': several classes without a count; write "
            "count*runtime for all but one of them");
  for (const char* count : {"0", "1.5", "-1", "x", "", "99999999999"}) {
    const std::string text = std::string(count) + "*constant(1s)";
    EXPECT_EQ(
        runtimes_refusal(text, 5),
        "runtime '" + text + "': '" + count + "' is no number of workers; write 2*constant(100ms)");
  }
  EXPECT_EQ(runtimes_refusal("2*constant(1s),,", 5).substr(0, 21), "runtime '': no name; ");
}

constexpr const char* kAll =
    "machines(size=2,cv=0.3,for=2s,of=markov(fast=gamma(mean=100ms,cv=2),"
    "slow=mixture(0.5*pareto(mean=1s,shape=2),0.5*normal(mean=2s,cv=0.5)),fast_for=9it,"
    "slow_for=3it))";

TEST(Runtimes, AWorkersDrawsDependOnNobodyElseAndOnNoOrder) {
  const Runtimes small = parse(kAll, 3);
  const Runtimes large = parse(kAll, 100);
  std::vector<double> forwards;
  for (std::uint64_t iteration = 0; iteration < 200; ++iteration) {
    forwards.push_back(at(small, 2, iteration));
  }
  for (std::uint64_t iteration = 200; iteration-- > 0;) {
    std::ignore = at(large, 1, iteration);
    EXPECT_EQ(at(large, 2, iteration), forwards[iteration]);
  }
}

TEST(Runtimes, AnotherSeedIsAnotherRun) {
  const Runtimes one = parse(kAll, 3, 1);
  const Runtimes other = parse(kAll, 3, 2);
  for (std::uint64_t iteration = 0; iteration < 100; ++iteration) {
    EXPECT_NE(at(one, 0, iteration), at(other, 0, iteration));
    EXPECT_NE(at(one, 0, iteration), at(one, 1, iteration));
  }
}

TEST(Runtimes, ClassesHaveMachinesOfTheirOwn) {
  const Runtimes runtimes = parse(
      "2*machines(size=4,cv=0.3,of=constant(1s)),"
      "2*machines(size=4,cv=0.3,of=constant(1s))",
      4);
  EXPECT_EQ(at(runtimes, 0, 0), at(runtimes, 1, 0));
  EXPECT_EQ(at(runtimes, 2, 0), at(runtimes, 3, 0));
  EXPECT_NE(at(runtimes, 1, 0), at(runtimes, 2, 0));
}

TEST(Runtimes, NoneIsZeroOrOverflowsTheClock) {
  const Runtimes tiny = parse("gamma(mean=1ns,cv=100)", 1);
  const Runtimes huge = parse("scaled(factor=1000,of=pareto(mean=1000000s,shape=1.01))", 1);
  double least = HUGE_VAL;
  double most = 0.0;
  for (std::uint64_t iteration = 0; iteration < 100'000; ++iteration) {
    least = std::min(least, at(tiny, 0, iteration));
    most = std::max(most, at(huge, 0, iteration));
  }
  // The first is 0 in all but name for nearly all draws; the second is above 1e8 s for one in 12.
  EXPECT_EQ(least, Runtimes::kSecondsMin);
  EXPECT_EQ(most, Runtimes::kSecondsMax);
  EXPECT_GE(from_seconds(least), Duration{1});
  EXPECT_LT(from_seconds(most), Duration::max() / 90);
}

TEST(Runtimes, TheCutoffsOfAClassArePredictedFromItsCdf) {
  // What `simulate` will be compared with: here the two ends of 30 lognormal workers, by hand.
  const Runtimes runtimes = parse("lognormal(mean=100ms,cv=0.3)", 30);
  const Distribution& distribution = *runtimes.classes().front().distribution;
  const auto cdf = [&](double t) { return *distribution.cdf(t); };
  double sum = 0.0;
  double before = 0.0;
  for (std::uint32_t k = 1; k <= 30; ++k) {
    const double expected = expected_order_statistic(cdf, {.k = k, .n = 30});
    EXPECT_GT(expected, before);
    before = expected;
    sum += expected;
  }
  EXPECT_NEAR(sum, 30 * distribution.mean(), 1e-9 * sum);  // All of them, in whatever order.
}

}  // namespace
}  // namespace outpace::sim

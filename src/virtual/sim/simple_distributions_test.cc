#include "sim/simple_distributions.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/order_statistics_test.h"
#include "sim/sample_test.h"

namespace outpace::sim {
namespace {

struct Example {
  std::string name;
  std::unique_ptr<const Distribution> distribution;
};

std::vector<Example> light_tails() {
  std::vector<Example> all;
  all.push_back({"constant", std::make_unique<Constant>(0.1)});
  for (const double cv : {0.05, 0.3, 1.0, 3.0}) {
    const MeanAndCv shape{.mean = 0.1, .cv = cv};
    all.push_back({"normal " + std::to_string(cv), std::make_unique<Normal>(shape)});
    all.push_back({"gamma " + std::to_string(cv), std::make_unique<Gamma>(shape)});
    if (cv <= 1.0) {
      all.push_back({"lognormal " + std::to_string(cv), std::make_unique<Lognormal>(shape)});
    }
  }
  all.push_back(
      {"exponential", std::make_unique<Exponential>(Exponential::Options{.mean = 2, .shift = 0})});
  all.push_back(
      {"shifted", std::make_unique<Exponential>(Exponential::Options{.mean = 2, .shift = 1.5})});
  all.push_back(
      {"pareto", std::make_unique<Pareto>(Pareto::Options{.mean = 3, .shape = 12, .shift = 1})});
  return all;
}

TEST(SimpleDistributions, SamplesHaveTheMeanTheVarianceAndTheCdf) {
  constexpr std::uint32_t kCount = 200'000;
  std::uint64_t seed = 100;
  for (const auto& [name, distribution] : light_tails()) {
    SCOPED_TRACE(name + ", seed " + std::to_string(++seed));
    const std::vector<double> values = sample(*distribution, kCount, seed);
    const double mean = distribution->mean();
    const double variance = distribution->variance();
    EXPECT_NEAR(moment(values, 0, 1), mean, kDeviations * std::sqrt(variance / kCount) + 1e-12);
    // The squared distances from the mean have this variance, as far as the sample tells.
    const double spread = moment(values, mean, 4) - variance * variance;
    EXPECT_NEAR(moment(values, mean, 2),
                variance,
                kDeviations * std::sqrt(std::max(0.0, spread) / kCount) + 1e-12);
    const double distance =
        distance_of_cdf(values, [&](double x) { return *distribution->cdf(x); });
    EXPECT_LE(distance, cdf_distance_bound(kCount));
    EXPECT_GT(*std::min_element(values.begin(), values.end()), 0.0);
  }
}

TEST(SimpleDistributions, TheMeanAndTheVarianceAreThoseOfTheCdf) {
  for (const auto& [name, distribution] : light_tails()) {
    SCOPED_TRACE(name);
    const auto cdf = [&](double x) { return *distribution->cdf(x); };
    const double mean = expected_order_statistic(cdf, {.k = 1, .n = 1});
    EXPECT_NEAR(mean, distribution->mean(), 1e-9 * mean);
    const double square =
        expected_order_statistic([&](double x) { return cdf(std::sqrt(x)); }, {.k = 1, .n = 1});
    EXPECT_NEAR(square - mean * mean, distribution->variance(), 3e-9 * square);
  }
}

TEST(Normal, TheCutMovesTheMomentsAsItsHeaderSays) {
  const Normal normal({.mean = 1.0, .cv = 0.3});
  EXPECT_NEAR(normal.mean(), 1.00047, 5e-6);
  EXPECT_NEAR(normal.variance() / 0.09, 0.9948, 5e-5);
  EXPECT_EQ(normal.cdf(0.000999), 0.0);
  EXPECT_EQ(normal.cdf(0.001), 0.0);
  EXPECT_GT(*normal.cdf(0.002), 0.0);
}

TEST(Lognormal, HasTheMedianAndTheQuantileWorkedByHand) {
  // cv = sqrt(e - 1) makes sigma 1, and the mean e^(1/2) makes mu 0.
  const Lognormal lognormal({.mean = std::exp(0.5), .cv = std::sqrt(std::exp(1.0) - 1.0)});
  EXPECT_NEAR(*lognormal.cdf(1.0), 0.5, 1e-15);
  EXPECT_NEAR(*lognormal.cdf(std::exp(1.0)), 0.841344746068542949, 1e-15);
  EXPECT_NEAR(lognormal.variance(), std::exp(2.0) - std::exp(1.0), 1e-14);
  EXPECT_EQ(lognormal.cdf(0.0), 0.0);
}

TEST(Pareto, HasTheNumbersWorkedByHand) {
  // Scale (3 - 1) (4 - 1) = 6.
  const Pareto pareto({.mean = 3, .shape = 4, .shift = 1});
  EXPECT_DOUBLE_EQ(pareto.mean(), 3.0);
  EXPECT_DOUBLE_EQ(pareto.variance(), 36.0 * 4 / (9 * 2));
  EXPECT_DOUBLE_EQ(*pareto.cdf(7.0), 1.0 - 1.0 / 16);
  EXPECT_EQ(pareto.cdf(1.0), 0.0);
  EXPECT_EQ(Pareto({.mean = 3, .shape = 2, .shift = 1}).variance(), HUGE_VAL);
}

TEST(Pareto, AHeavyTailStillHasItsCdf) {
  constexpr std::uint32_t kCount = 200'000;
  const Pareto pareto({.mean = 0.3, .shape = 1.2, .shift = 0.1});
  const auto cdf = [&](double x) { return *pareto.cdf(x); };
  EXPECT_LE(distance_of_cdf(sample(pareto, kCount, 9), cdf), cdf_distance_bound(kCount));
}

TEST(Uniforms, DrawsOfWorkersAndIterationsAreUncorrelated) {
  constexpr std::uint32_t kCount = 100'000;
  const auto number = [](std::uint32_t worker, std::uint64_t iteration, std::uint64_t seed) {
    return Uniforms({.seed = seed,
                     .worker = WorkerId{worker},
                     .rank = 0,
                     .iteration = iteration,
                     .start = Time{}})
               .next() -
           0.5;
  };
  // A product of independent centred uniforms has variance 1/144.
  const double bound = kDeviations * std::sqrt(1.0 / 144 / kCount);
  double iterations = 0.0;
  double workers = 0.0;
  double seeds = 0.0;
  double numbers = 0.0;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    iterations += number(7, i, 1) * number(7, i + 1, 1) / kCount;
    workers += number(i, 7, 1) * number(i + 1, 7, 1) / kCount;
    seeds += number(7, 7, i) * number(7, 7, i + 1) / kCount;
    Uniforms uniforms(key(1, i));
    numbers += (uniforms.next() - 0.5) * (uniforms.next() - 0.5) / kCount;
  }
  EXPECT_LE(std::fabs(iterations), bound);
  EXPECT_LE(std::fabs(workers), bound);
  EXPECT_LE(std::fabs(seeds), bound);
  EXPECT_LE(std::fabs(numbers), bound);
}

}  // namespace
}  // namespace outpace::sim

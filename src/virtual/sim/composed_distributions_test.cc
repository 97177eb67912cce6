#include "sim/composed_distributions.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/sample_test.h"
#include "sim/simple_distributions.h"

namespace outpace::sim {
namespace {

constexpr std::uint32_t kCount = 200'000;

std::unique_ptr<Constant> constant(double seconds) {
  return std::make_unique<Constant>(seconds);
}
std::unique_ptr<Exponential> exponential(double mean) {
  return std::make_unique<Exponential>(Exponential::Options{.mean = mean, .shift = 0});
}

Mixture mixture() {
  std::vector<Mixture::Part> parts;
  parts.push_back({0.9, constant(0.1)});
  parts.push_back({0.1, exponential(1.0)});
  return Mixture(std::move(parts));
}

// Slow a quarter of the time.
Markov markov(Axis axis, double scale) {
  return Markov({.fast = exponential(0.1),
                 .slow = constant(1.0),
                 .fast_for = {axis, 6.0 * scale},
                 .slow_for = {axis, 2.0 * scale}});
}

void expect_closed_forms(const Distribution& distribution, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<double> values = sample(distribution, kCount, seed);
  const double variance = distribution.variance();
  EXPECT_NEAR(
      moment(values, 0, 1), distribution.mean(), kDeviations * std::sqrt(variance / kCount));
  const double spread = moment(values, distribution.mean(), 4) - variance * variance;
  EXPECT_NEAR(
      moment(values, distribution.mean(), 2), variance, kDeviations * std::sqrt(spread / kCount));
  if (distribution.cdf(1.0)) {
    const auto cdf = [&](double x) { return *distribution.cdf(x); };
    EXPECT_LE(distance_of_cdf(values, cdf), cdf_distance_bound(kCount));
  }
}

TEST(Mixture, HasTheClosedFormsOfItsParts) {
  const Mixture distribution = mixture();
  EXPECT_DOUBLE_EQ(distribution.mean(), 0.9 * 0.1 + 0.1 * 1.0);
  EXPECT_DOUBLE_EQ(distribution.variance(), 0.9 * 0.01 + 0.1 * 2.0 - 0.19 * 0.19);
  EXPECT_DOUBLE_EQ(*distribution.cdf(0.1), 0.9 + 0.1 * (1 - std::exp(-0.1)));
  expect_closed_forms(distribution, 11);
}

TEST(Markov, InTheLongRunIsAMixture) {
  // Each worker's first iteration, at its own moment: independent of all others.
  class FirstOnly final : public Distribution {
   public:
    FirstOnly() : of_(markov(Axis::kIteration, 1.0)) {}
    [[nodiscard]] double draw(const Draw& draw) const override {
      Draw first = draw;
      first.worker = WorkerId{draw.rank + 1000 * static_cast<std::uint32_t>(draw.iteration)};
      first.iteration = 17;
      return of_.draw(first);
    }
    [[nodiscard]] double mean() const override { return of_.mean(); }
    [[nodiscard]] double variance() const override { return of_.variance(); }
    [[nodiscard]] std::optional<double> cdf(double x) const override { return of_.cdf(x); }

   private:
    Markov of_;
  };
  const FirstOnly distribution;
  EXPECT_DOUBLE_EQ(distribution.mean(), 0.75 * 0.1 + 0.25 * 1.0);
  EXPECT_DOUBLE_EQ(distribution.variance(), 0.75 * 0.02 + 0.25 - 0.325 * 0.325);
  expect_closed_forms(distribution, 12);
}

// The chance to be slow, `lag` after a worker was seen in a state, against the chain's closed form.
void expect_transitions(const Markov& distribution, Axis axis, double lag, double remembered) {
  constexpr std::uint32_t kWorkers = 40'000;
  double seen[2] = {0, 0};
  double then_slow[2] = {0, 0};
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    Draw draw{.seed = 13,
              .worker = WorkerId{worker},
              .rank = worker,
              .iteration = 5,
              .start = Time{std::chrono::seconds(5)}};
    const bool before = distribution.slow(draw);
    if (axis == Axis::kTime) {
      draw.start += from_seconds(lag);
    } else {
      draw.iteration += static_cast<std::uint64_t>(lag);
    }
    seen[before] += 1;
    then_slow[before] += distribution.slow(draw) ? 1 : 0;
  }
  for (const bool before : {false, true}) {
    const double expected = 0.25 + remembered * ((before ? 1.0 : 0.0) - 0.25);
    const double bound = kDeviations * std::sqrt(expected * (1 - expected) / seen[before]);
    EXPECT_NEAR(then_slow[before] / seen[before], expected, bound) << before << " " << lag;
  }
}

TEST(Markov, ChangesStateAsOftenAsItsDwellTimesSay) {
  // Next iteration: slow turns fast with probability 1/2, fast turns slow with 1/6.
  const Markov by_iteration = markov(Axis::kIteration, 1.0);
  expect_transitions(by_iteration, Axis::kIteration, 1, 1.0 - 1.0 / 6 - 1.0 / 2);
  expect_transitions(by_iteration, Axis::kIteration, 3, std::pow(1.0 - 1.0 / 6 - 1.0 / 2, 3));
  const Markov by_time = markov(Axis::kTime, 10.0);
  for (const double lag : {0.5, 10.0, 40.0}) {
    expect_transitions(by_time, Axis::kTime, lag, std::exp(-lag * (1.0 / 60 + 1.0 / 20)));
  }
}

TEST(Machines, ShareOneFactorAndEachHasItsOwn) {
  const Machines machines(
      {.size = 4, .cv = 0.5, .lasts = std::nullopt, .distribution = constant(1)});
  const auto draw = [&](std::uint32_t rank, std::uint64_t iteration) {
    return machines.draw({.seed = 1,
                          .worker = WorkerId{100 + rank},
                          .rank = rank,
                          .iteration = iteration,
                          .start = Time{}});
  };
  for (std::uint32_t rank = 0; rank < 64; rank += 4) {
    for (std::uint32_t other = 0; other < 4; ++other) {
      EXPECT_EQ(draw(rank + other, other), draw(rank, 0));  // For the whole run.
    }
    EXPECT_NE(draw(rank + 4, 0), draw(rank, 0));
  }
}

TEST(Machines, HaveALognormalFactorWithMeanOne) {
  // One worker a machine and constant runtimes: the factor alone, independent if workers differ.
  const Machines machines(
      {.size = 1, .cv = 0.5, .lasts = Dwell{Axis::kIteration, 1.0}, .distribution = constant(2)});
  const Lognormal expected({.mean = 2, .cv = 0.5});
  EXPECT_DOUBLE_EQ(machines.mean(), expected.mean());
  EXPECT_DOUBLE_EQ(machines.variance(), expected.variance());
  EXPECT_EQ(machines.cdf(1.0), std::nullopt);
  const auto cdf = [&](double x) { return *expected.cdf(x); };
  EXPECT_LE(distance_of_cdf(sample(machines, kCount, 14), cdf), cdf_distance_bound(kCount));
}

TEST(Machines, HaveTheMomentsOfTheProduct) {
  const Machines machines({.size = 1,
                           .cv = 0.5,
                           .lasts = Dwell{Axis::kIteration, 1.0},
                           .distribution = exponential(0.1)});
  EXPECT_DOUBLE_EQ(machines.variance(), 1.25 * 0.02 - 0.01);
  expect_closed_forms(machines, 15);
}

TEST(Machines, FactorsAreDrawnAnewAsOftenAsTheyLast) {
  const Machines machines(
      {.size = 2, .cv = 0.5, .lasts = Dwell{Axis::kTime, 10.0}, .distribution = constant(1)});
  constexpr std::uint32_t kMachines = 40'000;
  double same = 0;
  for (std::uint32_t rank = 0; rank < 2 * kMachines; rank += 2) {
    Draw draw{.seed = 16, .worker = WorkerId{rank}, .rank = rank, .iteration = 0, .start = Time{}};
    const double before = machines.factor(draw);
    draw.start += std::chrono::seconds(5);
    draw.rank += 1;  // The other worker of the machine.
    same += machines.factor(draw) == before ? 1 : 0;
  }
  const double expected = std::exp(-0.5);
  EXPECT_NEAR(
      same / kMachines, expected, kDeviations * std::sqrt(expected * (1 - expected) / kMachines));
}

TEST(Scaled, IsAMultipleOfTheSameDraws) {
  const Scaled scaled(4.0, exponential(0.1));
  const std::vector<double> plain = sample(*exponential(0.1), 1000, 17);
  const std::vector<double> slower = sample(scaled, 1000, 17);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(slower[i], 4.0 * plain[i]);
  }
  EXPECT_DOUBLE_EQ(scaled.mean(), 0.4);
  EXPECT_DOUBLE_EQ(scaled.variance(), 0.16);
  EXPECT_DOUBLE_EQ(*scaled.cdf(0.4), 1 - std::exp(-1.0));
}

}  // namespace
}  // namespace outpace::sim

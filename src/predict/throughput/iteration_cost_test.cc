#include "throughput/iteration_cost.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr IterationCost kCost{.compute_fixed = 0.1,
                              .compute_example = 0.01,
                              .compute_square = 0.001,
                              .growth = Growth::kLogarithmic,
                              .local = {.fixed = 0.2, .growth = 0.05},
                              .across = {.fixed = 1.0, .growth = 0.5},
                              .overlap = 1.0};

TEST(IterationCost, OfOneWorkerIsComputingAlone) {
  // 0.1 + 10 x 0.01 + 100 x 0.001
  EXPECT_DOUBLE_EQ(iteration_seconds(kCost, {.batch_per_worker = 10}), 0.3);
}

TEST(IterationCost, AddsWhatDoesNotOverlap) {
  // 0.3 + 0.2 + 0.05 x log2 4
  EXPECT_DOUBLE_EQ(iteration_seconds(kCost, {.workers = 4, .nodes = 1, .batch_per_worker = 10}),
                   0.6);
  // 0.3 + 1.0 + 0.5 x log2 8
  EXPECT_DOUBLE_EQ(iteration_seconds(kCost, {.workers = 8, .nodes = 2, .batch_per_worker = 10}),
                   2.8);
}

TEST(IterationCost, HidesTheShorterPartTheMoreTheyOverlap) {
  IterationCost cost{.compute_fixed = 3.0, .across = {.fixed = 4.0}, .overlap = 2.0};
  const Configuration at{.workers = 2, .nodes = 2};
  EXPECT_DOUBLE_EQ(iteration_seconds(cost, at), 5.0);  // The root of 9 + 16.
  cost.overlap = 10.0;
  EXPECT_NEAR(iteration_seconds(cost, at), 4.0 * std::pow(1.0 + std::pow(0.75, 10), 0.1), 1e-12);
}

TEST(IterationCost, GrowsByTheLawItWasTold) {
  EXPECT_EQ(growth_of(Growth::kLogarithmic, 8), 3.0);
  EXPECT_EQ(growth_of(Growth::kSaturating, 8), 0.875);
  EXPECT_EQ(growth_of(Growth::kLinear, 8), 7.0);
  for (const Growth growth : {Growth::kLogarithmic, Growth::kSaturating, Growth::kLinear}) {
    EXPECT_EQ(growth_of(growth, 1), 0.0);
  }
}

TEST(IterationCost, OfTinyTimesDoesNotUnderflow) {
  const IterationCost cost{.compute_fixed = 1e-200, .across = {.fixed = 1e-200}, .overlap = 10.0};
  EXPECT_NEAR(
      iteration_seconds(cost, {.workers = 2, .nodes = 2}) / 1e-200, std::pow(2.0, 0.1), 1e-12);
  EXPECT_EQ(iteration_seconds({}, {}), 0.0);
}

}  // namespace
}  // namespace outpace::throughput

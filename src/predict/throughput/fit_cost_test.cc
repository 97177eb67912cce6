#include "throughput/fit_cost.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "throughput/known_cost_test.h"

namespace outpace::throughput {
namespace {

Row row(std::uint32_t workers, std::uint32_t nodes, double batch, double seconds) {
  return {.configuration = {.workers = workers, .nodes = nodes, .batch_per_worker = batch},
          .iteration_seconds = seconds};
}

TEST(FitCost, FindsTheCoefficientsThatMadeTheTable) {
  const CostFit fit = fit_cost(known_rows(kKnownCost), Growth::kLogarithmic);
  EXPECT_EQ(fit.coefficients, 8U);
  EXPECT_LT(fit.error, 1e-4);
  EXPECT_NEAR(fit.cost.compute_fixed, 0.02, 0.02 * 0.02);
  EXPECT_NEAR(fit.cost.compute_example, 0.001, 0.02 * 0.001);
  EXPECT_NEAR(fit.cost.compute_square, 2e-6, 0.02 * 2e-6);
  EXPECT_NEAR(fit.cost.across.fixed, 0.06, 0.02 * 0.06);
  EXPECT_NEAR(fit.cost.across.growth, 0.03, 0.02 * 0.03);
  EXPECT_NEAR(fit.cost.overlap, 2.0, 0.02 * 2.0);
}

TEST(FitCost, FollowsEachLawBeyondWhatWasMeasured) {
  for (const Growth growth : {Growth::kLogarithmic, Growth::kSaturating, Growth::kLinear}) {
    IterationCost cost = kKnownCost;
    cost.growth = growth;
    const CostFit fit = fit_cost(known_rows(cost), growth);
    const Configuration far{.workers = 64, .nodes = 16, .batch_per_worker = 100};
    EXPECT_NEAR(iteration_seconds(fit.cost, far) / iteration_seconds(cost, far), 1.0, 0.01);
  }
}

TEST(FitCost, IsNotPulledByAFewDisturbedRows) {
  std::vector<Row> rows = known_rows(kKnownCost);
  *rows[7].iteration_seconds *= 10.0;
  *rows[33].iteration_seconds *= 10.0;
  const CostFit fit = fit_cost(rows, Growth::kLogarithmic);
  const Configuration at{.workers = 32, .nodes = 16, .batch_per_worker = 64};
  // Two of fifty, each as if by ten times rho's 10 %: they may move it by a few per cent.
  EXPECT_NEAR(iteration_seconds(fit.cost, at) / iteration_seconds(kKnownCost, at), 1.0, 0.05);
}

TEST(FitCost, KnowsNoScale) {
  for (const double scale : {1e-6, 1e6}) {
    std::vector<Row> rows = known_rows(kKnownCost);
    for (Row& each : rows) {
      *each.iteration_seconds *= scale;
    }
    const CostFit fit = fit_cost(rows, Growth::kLogarithmic);
    EXPECT_NEAR(fit.cost.across.growth / scale, 0.03, 0.02 * 0.03);
  }
}

TEST(FitCost, OfThreeRowsIsALineOverTheLogarithm) {
  const std::vector<Row> rows{row(1, 1, 32, 1.0), row(8, 1, 32, 1.3), row(16, 2, 32, 1.4)};
  const CostFit fit = fit_cost(rows, Growth::kLogarithmic);
  EXPECT_EQ(fit.coefficients, 2U);
  EXPECT_NEAR(
      iteration_seconds(fit.cost, {.workers = 64, .nodes = 8, .batch_per_worker = 32}), 1.6, 1e-3);
  // Nobody knows how it depends on the batch: half of it.
  EXPECT_NEAR(compute_seconds(fit.cost, 64), 1.5, 1e-3);
}

TEST(FitCost, OfOneRowIsThatRow) {
  const CostFit fit = fit_cost(std::vector{row(4, 2, 8, 0.7)}, Growth::kLogarithmic);
  EXPECT_EQ(fit.coefficients, 1U);
  EXPECT_NEAR(
      iteration_seconds(fit.cost, {.workers = 4, .nodes = 2, .batch_per_worker = 8}), 0.7, 1e-6);
}

TEST(FitCost, TakesSeveralNodesToCostWhatOneDoesIfThatIsAllThereIs) {
  const std::vector<Row> rows{row(1, 1, 8, 1.0),
                              row(2, 1, 8, 1.1),
                              row(4, 1, 8, 1.2),
                              row(8, 1, 8, 1.3),
                              row(8, 1, 16, 2.3)};
  const CostFit fit = fit_cost(rows, Growth::kLogarithmic);
  EXPECT_EQ(fit.cost.across, fit.cost.local);
  EXPECT_GT(fit.cost.local.growth, 0.0);
}

TEST(FitCost, LearnsComputingFromKnownSynchronising) {
  // Always 8 workers: which part is which, only sync_seconds tells.
  std::vector<Row> rows;
  for (const double batch : {10.0, 20.0, 40.0}) {
    Row each = row(8, 8, batch, 0.5 + 0.01 * batch);
    each.sync_seconds = 0.5;
    rows.push_back(each);
  }
  const CostFit fit = fit_cost(rows, Growth::kLogarithmic);
  EXPECT_NEAR(compute_seconds(fit.cost, 20), 0.2, 0.02);
}

TEST(FitCost, NeverFallsWithMoreWorkersOrALargerBatch) {
  const std::vector<Row> rows = disturbed(known_rows(kKnownCost));
  for (const Growth growth : {Growth::kLogarithmic, Growth::kSaturating, Growth::kLinear}) {
    const IterationCost cost = fit_cost(rows, growth).cost;
    double before = 0.0;
    for (const std::uint32_t workers : {2U, 4U, 9U, 16U, 40U, 1000U}) {
      const double now =
          iteration_seconds(cost, {.workers = workers, .nodes = 2, .batch_per_worker = 64});
      EXPECT_GE(now, before);
      EXPECT_GT(iteration_seconds(cost, {.workers = workers, .nodes = 2, .batch_per_worker = 65}),
                now);
      before = now;
    }
  }
}

}  // namespace
}  // namespace outpace::throughput

#include "throughput/predict.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "throughput/calibrate.h"
#include "throughput/known_cost_test.h"

namespace outpace::throughput {
namespace {

// 0.1 s to compute, 0.2 s to synchronise across nodes; 10 % wrong.
CalibratedProfile plain_profile() {
  return {.groups = {{.rows = 10,
                      .cost = {.compute_fixed = 0.1, .across = {.fixed = 0.2}},
                      .spread = 0.1,
                      .seen = {.workers_min = 1,
                               .workers_max = 8,
                               .local_workers_max = 0,
                               .across_workers_max = 8,
                               .workers_per_node_max = 2,
                               .batch_min = 8,
                               .batch_max = 32}}}};
}

bool warns(const IterationPrediction& prediction, const std::string& of) {
  for (const std::string& warning : prediction.warnings) {
    if (warning.find(of) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Predict, IsTheCostAndItsSpreadWithinWhatWasMeasured) {
  const IterationPrediction found =
      predict(plain_profile(), {.workers = 8, .nodes = 4, .batch_per_worker = 16});
  ASSERT_TRUE(found.seconds && found.high);
  EXPECT_DOUBLE_EQ(*found.seconds, 0.3);
  EXPECT_DOUBLE_EQ(found.low, 0.3 * std::exp(-0.1));
  EXPECT_DOUBLE_EQ(*found.high, 0.3 * std::exp(0.1));
  EXPECT_TRUE(found.sync_bound);
  EXPECT_EQ(found.warnings, std::vector<std::string>{});
  EXPECT_EQ(found.refusal, "");
}

TEST(Predict, ReachesOverTheOtherLaws) {
  CalibratedProfile profile = plain_profile();
  profile.groups[0].others = {{.compute_fixed = 0.1, .across = {.fixed = 0.1}},
                              {.compute_fixed = 0.1, .across = {.fixed = 0.5}}};
  const IterationPrediction found =
      predict(profile, {.workers = 8, .nodes = 4, .batch_per_worker = 16});
  EXPECT_DOUBLE_EQ(*found.seconds, 0.3);
  // 0.2 s and 0.6 s by the others: the interval reaches past both, by less than 10 % more.
  EXPECT_DOUBLE_EQ(found.low, 0.3 * std::exp(-std::hypot(0.1, std::log(1.5))));
  EXPECT_DOUBLE_EQ(*found.high, 0.3 * std::exp(std::hypot(0.1, std::log(2.0))));
}

TEST(Predict, WarnsOfEachExtrapolation) {
  const CalibratedProfile profile = plain_profile();
  const auto at = [&](std::uint32_t workers, std::uint32_t nodes, double batch) {
    return predict(profile, {.workers = workers, .nodes = nodes, .batch_per_worker = batch});
  };
  EXPECT_TRUE(warns(at(16, 8, 16), "more workers than were measured, 8 at most"));
  EXPECT_TRUE(warns(at(8, 4, 64), "batch 64: only 8 to 32 were measured"));
  EXPECT_TRUE(warns(at(8, 4, 4), "batch 4: only 8 to 32 were measured"));
  EXPECT_TRUE(warns(at(8, 2, 16), "more workers a node than were measured, 2 at most"));
  EXPECT_TRUE(warns(at(2, 1, 16), "several workers on one node"));
  EXPECT_EQ(at(16, 2, 64).warnings.size(), 3U);
  // Twice the batch is a doubling, as is twice the workers, and twice the workers a node.
  for (const IterationPrediction& beyond : {at(8, 4, 64), at(8, 2, 16), at(16, 8, 16)}) {
    EXPECT_NEAR(std::log(*beyond.high / *beyond.seconds), std::hypot(0.1, 0.1), 1e-12);
    EXPECT_NEAR(std::log(*beyond.seconds / beyond.low), std::hypot(0.1, 0.1), 1e-12);
  }
  EXPECT_NEAR(std::log(*at(32, 8, 64).high / 0.3), 0.1 * std::sqrt(1.0 + 4 + 1 + 1), 1e-12);
}

TEST(Predict, LeavesOpenWhatANetworkCostsThatNobodyMeasured) {
  CalibratedProfile profile = plain_profile();
  profile.groups[0].cost.across = {};
  profile.groups[0].seen.across_workers_max = 0;
  profile.groups[0].seen.workers_max = 1;
  const IterationPrediction found =
      predict(profile, {.workers = 4, .nodes = 4, .batch_per_worker = 8});
  EXPECT_DOUBLE_EQ(*found.seconds, 0.1);
  EXPECT_FALSE(found.high);
  EXPECT_TRUE(warns(found, "several nodes: no such row"));
}

TEST(Predict, OfAnotherBatchThanTheOnlyOneMayGrowWithItOrNot) {
  CalibratedProfile profile = plain_profile();
  profile.groups[0].cost = {.compute_fixed = 0.05, .compute_example = 0.05 / 32};
  profile.groups[0].seen.batch_min = 32;
  profile.groups[0].spread = 0.0;
  const IterationPrediction found = predict(profile, {.batch_per_worker = 64});
  EXPECT_DOUBLE_EQ(*found.seconds, 0.15);
  EXPECT_LE(found.low, 0.11);
  EXPECT_GE(*found.high, 0.2);
  EXPECT_TRUE(warns(found, "how time depends on it is not known"));
}

TEST(Predict, RefusesWhatItKnowsNothingOf) {
  CalibratedProfile profile = plain_profile();
  profile.groups[0].policy = "sync";
  profile.groups[0].topology = "ring";
  const auto refusal = [&](const Configuration& at) {
    const IterationPrediction found = predict(profile, at);
    EXPECT_FALSE(found.seconds);
    EXPECT_FALSE(found.high);
    return found.refusal;
  };
  EXPECT_EQ(refusal({.batch_per_worker = 8, .policy = "async"}),
            "policy 'async' was not calibrated, only 'sync'");
  EXPECT_EQ(refusal({.batch_per_worker = 8, .policy = "sync", .topology = "tree"}),
            "topology 'tree' was not calibrated, only 'ring'");
  EXPECT_EQ(refusal({.batch_per_worker = 321}),
            "batch 321 is too far from the 8 to 32 that were measured");
  EXPECT_EQ(refusal({.batch_per_worker = 0.79}),
            "batch 0.79 is too far from the 8 to 32 that were measured");
  EXPECT_TRUE(predict(profile, {.batch_per_worker = 8}).seconds);  // The only one there is.
  profile.groups.push_back(profile.groups.front());
  profile.groups.back().policy = "async";
  EXPECT_EQ(refusal({.batch_per_worker = 8}),
            "several were calibrated, name one: policy 'async', 'sync', topology 'ring'");
  EXPECT_TRUE(predict(profile, {.batch_per_worker = 8, .policy = "async"}).seconds);
}

TEST(Predict, WarnsIfTheCalibrationNamedNoPolicy) {
  EXPECT_TRUE(warns(predict(plain_profile(), {.batch_per_worker = 8, .policy = "sync"}),
                    "policy 'sync': the rows of the calibration do not name one"));
}

TEST(Predict, OfAKnownClusterHasNineOfTenWithinTheInterval) {
  const CalibratedProfile profile = calibrate(disturbed(known_rows(kKnownCost)));
  std::vector<Row> far;
  for (const std::uint32_t workers : {24U, 32U, 48U, 64U}) {
    for (const double batch : {16.0, 32.0, 64.0, 128.0, 256.0}) {
      Row row{.configuration = {.workers = workers, .nodes = 16, .batch_per_worker = batch}};
      row.iteration_seconds = iteration_seconds(kKnownCost, row.configuration);
      far.push_back(row);
    }
  }
  far = disturbed(far);
  std::vector<IterationPrediction> predictions;
  for (const Row& row : far) {
    predictions.push_back(predict(profile, row.configuration));
  }
  const Errors errors = errors_of(far, predictions);
  EXPECT_EQ(errors.measured, 20U);
  EXPECT_GE(errors.within, 0.9);
  EXPECT_LT(errors.median, 0.05);  // The disturbance itself.
}

TEST(Errors, AreOfThoseThatWereMeasuredAndPredicted) {
  std::vector<Row> rows(4);
  std::vector<IterationPrediction> predictions(4);
  for (std::size_t i = 0; i < 3; ++i) {
    rows[i].iteration_seconds = 1.0;
  }
  predictions[0] = {.seconds = 1.1, .low = 1.0, .high = 1.2};
  predictions[1] = {.seconds = 0.7, .low = 0.6, .high = 0.8};
  predictions[3] = {.seconds = 1.0};
  const Errors errors = errors_of(rows, predictions);
  EXPECT_EQ(errors.measured, 2U);
  EXPECT_NEAR(errors.median, 0.2, 1e-12);
  EXPECT_NEAR(errors.ninety, 0.28, 1e-12);
  EXPECT_NEAR(errors.worst, 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(errors.within, 0.5);
  EXPECT_EQ(errors_of({}, {}), Errors{});
}

}  // namespace
}  // namespace outpace::throughput

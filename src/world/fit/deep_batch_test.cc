#include "fit/deep_batch.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "fit/cut_rows.h"
#include "runtime_model/deep_features.h"
#include "runtime_model/deep_joint.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepWeights;
using runtime_model::Trace;

// Row i takes worker w exp(i / 100 + w) seconds.
Trace counted(std::size_t rows, std::uint32_t workers) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::uint32_t w = 0; w < workers; ++w) {
      seconds.push_back(std::exp(0.01 * static_cast<double>(i) + w));
    }
  }
  return {std::move(seconds), workers};
}

TEST(DeepBatch, OfDeepHasSequencesOfWorkers) {
  const Trace trace = counted(200, 20);
  DeepBatch batch(std::span(&trace, 1), 0.15, DeepWeights{});
  Rng rng(1, 0);
  batch.draw(rng);
  const at::Tensor features = batch.features();
  EXPECT_EQ(features.sizes(), (std::vector<std::int64_t>{48, 128, runtime_model::kDeepFeatures}));
  EXPECT_EQ(batch.seen().sizes(), (std::vector<std::int64_t>{48, 128}));
}

TEST(DeepBatch, OfDeepJointHasAWindowOfTheClusterAndTheWholeTruth) {
  const Trace trace = counted(200, 4);
  DeepWeights unit{.shape = runtime_model::joint_shape(4), .numbers = {}, .deviation = 1.0};
  DeepBatch batch(std::span(&trace, 1), 0.15, unit);
  Rng rng(1, 0);
  batch.draw(rng);
  const at::Tensor features = batch.features();
  const at::Tensor seen = batch.seen();
  const auto iterations = static_cast<std::int64_t>(deep_piece(unit.shape));
  EXPECT_GT(deep_piece(unit.shape), runtime_model::kJointWindow);
  ASSERT_EQ(features.sizes(), (std::vector<std::int64_t>{iterations, features.size(1), 8}));
  ASSERT_EQ(seen.sizes(), (std::vector<std::int64_t>{iterations, features.size(1), 4}));
  // A worker's runtimes grow by 1 % an iteration, and its neighbour takes e times as long, cut off
  // or not; not beyond the held-out rows.
  EXPECT_NEAR((seen[1][0][0] - seen[0][0][0]).item<double>(), 0.01, 1e-5);
  EXPECT_NEAR((seen[0][0][3] - seen[0][0][2]).item<double>(), 1.0, 1e-5);
  EXPECT_LT(seen.max().item<double>(), 0.01 * 170 + 3);
  const at::Tensor longer = features.slice(2, 4, 8);
  const double cut = longer.mean().item<double>();
  EXPECT_GT(cut, 0.1);
  EXPECT_LT(cut, 0.5);
  // A worker that arrived is shown as it was.
  const at::Tensor apart = (features.slice(2, 0, 4) - seen).abs() * (1.0 - longer);
  EXPECT_LT(apart.max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace outpace::fit

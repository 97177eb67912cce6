#include "runtime_model/deep_joint.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "runtime_model/draws.h"
#include "runtime_model/random_weights_test.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

constexpr std::uint32_t kCluster = 5;

// All weights are 0, but that each worker's log runtime has the mean `level` times the first number
// of z, and a sigma of exp(-3).
DeepWeights of_one_level(float level) {
  DeepWeights weights = random_weights(1, joint_shape(kCluster));
  std::size_t next = 0;
  for (const DeepTensor& tensor : deep_tensors(weights.shape)) {
    float* const numbers = weights.numbers.data() + next;
    std::fill(numbers, numbers + tensor.numbers(), 0.0F);
    for (std::size_t w = 0; w < kCluster; ++w) {
      if (tensor.name == "emission.weight") {
        numbers[(kCluster + w) * tensor.dimensions[1] + weights.shape.hidden] = level;
      } else if (tensor.name == "emission.bias") {
        numbers[2 * kCluster + w] = -3.0F;
      }
    }
    next += tensor.numbers();
  }
  return weights;
}

TEST(JointFeatures, AreTheUnitsDeviationsAndWhoTookLonger) {
  DeepWeights unit{.shape = joint_shape(3), .numbers = {}, .mean = std::log(2.0), .deviation = 0.5};
  const std::vector<Observation> seen{{.seconds = 2.0, .fate = Fate::kArrived},
                                      {.seconds = 2.0 * std::exp(0.5), .fate = Fate::kLonger},
                                      {}};
  std::vector<float> features;
  joint_features(seen, unit, {}, features);
  EXPECT_EQ(features, (std::vector<float>{0.0F, 1.0F, 0.0F, 0.0F, 1.0F, 1.0F}));
  joint_features(seen, unit, std::vector<float>{7.0F, 7.0F, 7.0F}, features);
  EXPECT_EQ(features[2], 7.0F);  // What a busy worker was like before.
}

TEST(DeepJoint, KnowsNothingBeforeTheFirstIteration) {
  Forecast forecast;
  EXPECT_FALSE(DeepJoint(random_weights(1, joint_shape(kCluster))).forecast(forecast));
}

TEST(DeepJoint, ForecastsDistributionsWhateverItsWeightsAre) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    DeepWeights weights = random_weights(seed, joint_shape(kCluster));
    for (float& number : weights.numbers) {
      number *= seed % 2 == 0 ? 1.0F : 1e3F;  // Garbage, too.
    }
    DeepJoint model(weights);
    Rng rng(seed, 1);
    Forecast forecast;
    for (int i = 0; i < 30; ++i) {
      std::vector<Observation> seen = arrived(around(std::vector<double>(kCluster, 1.0), 0.3, rng));
      seen[1].fate = Fate::kLonger;
      seen[2].fate = Fate::kBusy;
      model.observe(seen);
      ASSERT_TRUE(model.forecast(forecast));
      for (std::uint32_t w = 0; w < kCluster; ++w) {
        const auto row = forecast.row(w);
        EXPECT_TRUE(std::is_sorted(row.begin(), row.end()));
        EXPECT_EQ(row.back(), 1.0F);
      }
      for (const float rank : forecast.ranks()) {
        ASSERT_TRUE(rank > 0.0F && rank < 1.0F);
      }
    }
  }
}

// What a draw of z does to one worker, it does to all.
TEST(DeepJoint, DrawsAllWorkersFromOneState) {
  for (const float level : {0.0F, 0.5F}) {
    DeepJoint model(of_one_level(level));
    model.observe(arrived(std::vector<double>(kCluster, 1.0)));
    Forecast forecast;
    ASSERT_TRUE(model.forecast(forecast));
    const std::size_t draws = forecast.ranks().size() / kCluster;
    ASSERT_GE(draws, 128U);
    double product = 0.0;
    double square = 0.0;
    for (std::size_t k = 0; k < draws; ++k) {
      const auto value = [&](std::uint32_t w) {
        return std::log(forecast.quantile(w, forecast.ranks()[k * kCluster + w]));
      };
      product += value(0) * value(4);
      square += 0.5 * (value(0) * value(0) + value(4) * value(4));
    }
    if (level > 0.0F) {  // The common part's variance is 0.25, and that of each exp(-6).
      EXPECT_GT(product / square, 0.97);
      EXPECT_NEAR(std::sqrt(square / static_cast<double>(draws)), 0.5, 0.08);
    } else {  // Independent: a standard error of 1 / sqrt(256).
      EXPECT_NEAR(product / square, 0.0, 0.2);
    }
  }
}

TEST(DeepJoint, ALateTimeTakesItsPlaceInTheWindow) {
  const DeepWeights weights = random_weights(2, joint_shape(kCluster));
  DeepJoint told(weights);
  DeepJoint corrected(weights);
  const std::vector<Observation> first = arrived(std::vector<double>(kCluster, 1.0));
  told.observe(first);  // Which sets the grid.
  corrected.observe(first);
  Rng rng(1, 0);
  for (int i = 0; i < 5; ++i) {
    std::vector<Observation> seen = arrived(around(std::vector<double>(kCluster, 1.0), 0.3, rng));
    seen[3].seconds = 4.0;
    told.observe(seen);
    seen[3] = {.seconds = 1.2, .fate = Fate::kLonger};
    corrected.observe(seen);
    corrected.correct(3, 4.0);
    corrected.correct(2, 9.0);  // Had arrived: nothing to correct.
  }
  Forecast one;
  Forecast other;
  ASSERT_TRUE(told.forecast(one));
  ASSERT_TRUE(corrected.forecast(other));
  for (std::uint32_t w = 0; w < kCluster; ++w) {
    EXPECT_EQ(one.quantile(w, 0.7), other.quantile(w, 0.7));
  }
}

TEST(DeepJoint, ReadsAWindow) {
  const DeepWeights weights = random_weights(3, joint_shape(kCluster));
  DeepJoint one(weights);
  DeepJoint other(weights);
  one.observe(arrived(std::vector<double>(kCluster, 1.0)));
  other.observe(arrived(std::vector<double>(kCluster, 1.0)));
  one.observe(arrived(std::vector<double>(kCluster, 3.0)));
  other.observe(arrived(std::vector<double>(kCluster, 0.5)));
  Forecast first;
  Forecast second;
  const auto median = [](DeepJoint& model, Forecast& forecast) {
    EXPECT_TRUE(model.forecast(forecast));
    return forecast.quantile(0, 0.5);
  };
  EXPECT_NE(median(one, first), median(other, second));
  for (std::size_t i = 0; i < kJointWindow; ++i) {
    one.observe(arrived(std::vector<double>(kCluster, 1.0)));
    other.observe(arrived(std::vector<double>(kCluster, 1.0)));
  }
  EXPECT_EQ(median(one, first), median(other, second));
}

}  // namespace
}  // namespace outpace::runtime_model

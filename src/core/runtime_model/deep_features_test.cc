#include "runtime_model/deep_features.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(DeepFeatures, AreRelativeToTheMedian) {
  DeepFeatures features;
  std::vector<float> taken;
  features.take(std::vector<Observation>{{.seconds = 2.0, .fate = Fate::kArrived},
                                         {.seconds = 4.0, .fate = Fate::kLonger},
                                         {.seconds = 1.0, .fate = Fate::kArrived},
                                         {}},
                taken);
  ASSERT_EQ(taken.size(), kDeepFeatures * 4U);
  EXPECT_NEAR(features.reference(), std::log(2.0), 1e-12);
  const std::vector<double> seconds{0.0, std::log(2.0), -std::log(2.0), 0.0};
  for (std::size_t w = 0; w < 4; ++w) {
    EXPECT_NEAR(taken[w], seconds[w], 1e-6);
    EXPECT_EQ(taken[4 + w], w == 1 ? 1.0F : 0.0F);
    EXPECT_NEAR(taken[12 + w], 0.0, 1e-6);
    EXPECT_NEAR(taken[16 + w], w == 3 ? 0.0 : 1.0 / 3.0, 1e-6);
  }
}

TEST(DeepFeatures, AreTheSameForASlowerNetwork) {
  DeepFeatures quick;
  DeepFeatures slow;
  std::vector<float> of_quick;
  std::vector<float> of_slow;
  Rng rng(1, 0);
  for (int t = 0; t < 30; ++t) {
    std::vector<double> row = around({1.0, 1.0, 5.0, 1.0, 1.0}, 0.2, rng);
    quick.take(arrived(row), of_quick);
    for (double& seconds : row) {
      seconds *= 1000.0;
    }
    slow.take(arrived(row), of_slow);
    for (std::size_t i = 0; i < of_quick.size(); ++i) {
      EXPECT_NEAR(of_quick[i], of_slow[i], 1e-5);
    }
  }
}

TEST(DeepFeatures, TheReferenceFollowsALastingChangeSlowly) {
  DeepFeatures features;
  std::vector<float> taken;
  features.take(arrived({1.0, 1.0, 1.0}), taken);
  features.take(arrived({10.0, 10.0, 10.0}), taken);
  EXPECT_LT(features.reference(), 0.1);
  for (int t = 0; t < 400; ++t) {
    features.take(arrived({10.0, 10.0, 10.0}), taken);
  }
  EXPECT_NEAR(features.reference(), std::log(10.0), 0.01);
}

}  // namespace
}  // namespace outpace::runtime_model

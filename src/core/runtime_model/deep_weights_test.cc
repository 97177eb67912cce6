#include "runtime_model/deep_weights.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime_model/random_weights_test.h"

namespace outpace::runtime_model {
namespace {

std::string refused_because(const DeepWeights& weights) {
  try {
    check(weights);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnreadable);
    return error.what();
  }
  return "";
}

TEST(DeepWeights, AreAsManyAsTheirShapeSays) {
  EXPECT_EQ(refused_because(random_weights(1)), "");
  // One unit, one latent number, one component: the recurrence has 3 x (7 + 1 + 1 + 1) = 30.
  const DeepShape smallest{.hidden = 1, .latent = 1, .components = 1};
  EXPECT_EQ(random_weights(1, smallest).numbers.size(), 30U + 2U + 10U + 8U * 2U + 9U);
}

TEST(DeepWeights, OfAJointModelHaveInputsAndOutputsOfAllWorkers) {
  const DeepShape shape{.hidden = 1, .latent = 1, .components = 1, .workers = 5};
  // As above: three more inputs, of the recurrence and of the mean, and five times the outputs.
  EXPECT_EQ(random_weights(1, shape).numbers.size(),
            30U + 3U * 3U + 2U + 10U + 3U + 8U * 2U + 5U * 9U);
  EXPECT_EQ(refused_because(random_weights(1, joint_shape(5))), "");
  EXPECT_EQ(joint_shape(158).latent, 32U);
  DeepWeights weights = random_weights(1, {.workers = 5});
  EXPECT_EQ(refused_because(weights), "the joint model has 3 lognormals a worker; it takes one");
  weights = random_weights(1, joint_shape(5));
  weights.deviation = 0.0;
  EXPECT_NE(refused_because(weights).find("unit of runtimes"), std::string::npos);
}

TEST(DeepWeights, TooFewAndThoseThatAreNotFiniteAreRefused) {
  DeepWeights weights = random_weights(1);
  weights.numbers[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refused_because(weights), "a weight of the model is not a finite number");
  weights = random_weights(1);
  weights.numbers.pop_back();
  EXPECT_NE(refused_because(weights).find("its shape needs"), std::string::npos);
}

}  // namespace
}  // namespace outpace::runtime_model

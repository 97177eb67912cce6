#include "runtime_model/deep_network.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/deep_features.h"
#include "runtime_model/random_weights_test.h"

namespace outpace::runtime_model {
namespace {

constexpr std::size_t kThreeWorkers = 3;

std::vector<float> drawn(std::size_t count, Rng& rng) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = static_cast<float>(rng.normal());
  }
  return numbers;
}

TEST(QuickExp, IsExp) {
  for (double x = -79.0; x < 79.0; x += 0.0137) {
    const auto at = static_cast<float>(x);
    EXPECT_NEAR(quick_exp(at) / std::exp(double{at}), 1.0, 4e-7) << x;
  }
  EXPECT_EQ(quick_exp(1e9F), quick_exp(80.0F));
  EXPECT_EQ(quick_exp(-1e9F), quick_exp(-80.0F));
}

TEST(DeepNetwork, IsNothingButBiasesWithoutWeights) {
  const DeepShape shape{.hidden = 2, .latent = 1, .components = 2};
  DeepWeights weights{.shape = shape, .numbers = {}};
  for (const DeepTensor& tensor : deep_tensors(shape)) {
    const float value = tensor.name == "keep.weight"       ? 0.8F
                        : tensor.name == "gate.bias"       ? -100.0F  // All is kept.
                        : tensor.name == "emission.bias"   ? 0.25F
                        : tensor.name == "emission.weight" ? 0.0F
                                                           : 0.0F;
    weights.numbers.insert(weights.numbers.end(), tensor.numbers(), value);
  }
  DeepNetwork network(weights);
  DeepNetwork::Normals next;
  network.transition(std::vector<float>{2.0F, -1.0F}, next);
  EXPECT_NEAR(next.mean[0], 1.6F, 1e-6F);
  EXPECT_NEAR(next.mean[1], -0.8F, 1e-6F);
  EXPECT_EQ(next.log_sigma[0], 0.0F);
  DeepNetwork::Mixture mixture;
  network.emission(std::vector<float>{2.0F, -1.0F}, mixture);
  EXPECT_EQ(mixture.mean, std::vector<float>(4, 0.25F));
}

TEST(DeepNetwork, OfManyWorkersIsThatOfEach) {
  DeepNetwork network(random_weights(3));
  Rng rng(4, 0);
  DeepNetwork::State all = network.begin(kThreeWorkers);
  std::vector<DeepNetwork::State> each(kThreeWorkers, network.begin(1));
  for (int t = 0; t < 5; ++t) {
    const std::vector<float> features = drawn(kDeepFeatures * kThreeWorkers, rng);
    network.step(features, all);
    for (std::size_t w = 0; w < kThreeWorkers; ++w) {
      std::vector<float> own(kDeepFeatures);
      for (std::size_t i = 0; i < kDeepFeatures; ++i) {
        own[i] = features[i * kThreeWorkers + w];
      }
      network.step(own, each[w]);
      for (std::size_t i = 0; i < network.shape().latent; ++i) {
        EXPECT_EQ(all.mean[i * kThreeWorkers + w], each[w].mean[i]);
      }
    }
  }
}

TEST(DeepNetwork, IsFiniteWhateverItIsGiven) {
  DeepNetwork network(random_weights(5));
  DeepNetwork::State state = network.begin(1);
  DeepNetwork::Normals next;
  DeepNetwork::Mixture mixture;
  for (const float value : {8.0F, -8.0F, 0.0F, 8.0F}) {
    network.step(std::vector<float>(kDeepFeatures, value), state);
    network.transition(state.mean, next);
    network.emission(next.mean, mixture);
    for (const auto* numbers : {&state.hidden, &state.mean, &next.mean, &mixture.mean}) {
      EXPECT_TRUE(std::all_of(
          numbers->begin(), numbers->end(), [](float one) { return std::isfinite(one); }));
    }
  }
}

}  // namespace
}  // namespace outpace::runtime_model

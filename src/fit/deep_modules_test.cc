#include "fit/deep_modules.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "runtime_model/deep_features.h"
#include "runtime_model/deep_network.h"
#include "runtime_model/random_weights_test.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepNetwork;
using runtime_model::kDeepFeatures;

constexpr std::int64_t kIterations = 12;
constexpr std::int64_t kSequences = 7;

// Units x workers, as the pure network has it, against libtorch's workers x units.
void expect_same(const std::vector<float>& pure, const at::Tensor& with_torch) {
  const at::Tensor turned = with_torch.t().contiguous();
  ASSERT_EQ(static_cast<std::int64_t>(pure.size()), turned.numel());
  for (std::size_t i = 0; i < pure.size(); ++i) {
    EXPECT_NEAR(pure[i], turned.data_ptr<float>()[i], 1e-5);
  }
}

std::vector<float> units_by_workers(const at::Tensor& workers_by_units) {
  const at::Tensor turned = workers_by_units.t().contiguous();
  return {turned.data_ptr<float>(), turned.data_ptr<float>() + turned.numel()};
}

TEST(DeepModules, ComputeWhatTheNetworkWithoutLibtorchDoes) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const runtime_model::DeepWeights weights = runtime_model::random_weights(seed);
    const DeepModules modules(weights, at::kCPU);
    EXPECT_EQ(modules.weights().numbers, weights.numbers);
    DeepNetwork network(weights);
    DeepNetwork::State state = network.begin(kSequences);
    Rng rng(seed, 1);
    at::Tensor features = at::empty({kIterations, kSequences, std::int64_t{kDeepFeatures}});
    for (std::int64_t i = 0; i < features.numel(); ++i) {
      features.data_ptr<float>()[i] = static_cast<float>(rng.normal());
    }
    const at::NoGradGuard no_gradient;
    const at::Tensor hidden = modules.recur(features);
    at::Tensor latent = at::zeros({kSequences, std::int64_t{weights.shape.latent}});
    for (std::int64_t t = 0; t < kIterations; ++t) {
      network.step(units_by_workers(features[t]), state);
      const DeepModules::Normals q = modules.posterior(latent, hidden[t], features[t]);
      latent = q.mean;
      expect_same(state.hidden, hidden[t]);
      expect_same(state.mean, q.mean);
      expect_same(state.log_sigma, q.log_sigma);
      DeepNetwork::Normals next;
      network.transition(state.mean, next);
      const DeepModules::Normals p = modules.transition(latent);
      expect_same(next.mean, p.mean);
      expect_same(next.log_sigma, p.log_sigma);
      DeepNetwork::Mixture emitted;
      network.emission(next.mean, emitted);
      const DeepModules::Mixture mixture = modules.emission(p.mean);
      expect_same(emitted.mean, mixture.mean);
      expect_same(emitted.log_sigma, mixture.log_sigma);
    }
  }
}

TEST(DeepModules, TheDensityIsThatOfTheMixture) {
  const DeepModules modules(runtime_model::random_weights(9), at::kCPU);
  const at::Tensor latent = at::zeros({1, 8});
  const DeepModules::Mixture mixture = modules.emission(latent);
  double expected = 0.0;
  for (std::int64_t m = 0; m < mixture.mean.size(1); ++m) {
    const double sigma = std::exp(mixture.log_sigma[0][m].item<double>());
    const double z = (0.4 - mixture.mean[0][m].item<double>()) / sigma;
    expected += std::exp(mixture.log_weight[0][m].item<double>() - 0.5 * z * z) / sigma / 2.506628;
  }
  const at::Tensor seen = at::full({1}, 0.4F);
  EXPECT_NEAR(modules.log_density(latent, seen).item<double>(), std::log(expected), 1e-5);
}

}  // namespace
}  // namespace outpace::fit

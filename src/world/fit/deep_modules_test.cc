#include "fit/deep_modules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "fit/deep_fit.h"
#include "runtime_model/auto_model.h"
#include "runtime_model/deep.h"
#include "runtime_model/deep_features.h"
#include "runtime_model/deep_network.h"
#include "runtime_model/random_weights_test.h"
#include "runtime_model/seen_test.h"

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
    const float expected = turned.data_ptr<float>()[i];
    EXPECT_NEAR(pure[i], expected, 1e-5 * std::max(1.0F, std::abs(expected)));
  }
}

std::vector<float> units_by_workers(const at::Tensor& workers_by_units) {
  const at::Tensor turned = workers_by_units.t().contiguous();
  return {turned.data_ptr<float>(), turned.data_ptr<float>() + turned.numel()};
}

void expect_the_network_without_libtorch(const runtime_model::DeepShape& shape) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const runtime_model::DeepWeights weights = runtime_model::random_weights(seed, shape);
    const DeepModules modules(weights, at::kCPU);
    EXPECT_EQ(modules.weights().numbers, weights.numbers);
    DeepNetwork network(weights);
    DeepNetwork::State state = network.begin(kSequences);
    Rng rng(seed, 1);
    at::Tensor features = at::empty(
        {kIterations, kSequences, std::int64_t{runtime_model::features_of(weights.shape)}});
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

TEST(DeepModules, ComputeWhatTheNetworkWithoutLibtorchDoes) {
  expect_the_network_without_libtorch({});
  expect_the_network_without_libtorch({.hidden = 24, .latent = 8, .components = 1, .workers = 3});
}

// What is fitted is what decides: the forecasts of runtime_model::Deep, but for their grid.
TEST(DeepModules, ForetellAsTheRuntimeModelForecasts) {
  constexpr std::size_t kFirst = 4;  // Iterations that are not judged.
  const runtime_model::DeepWeights weights = initial_deep_weights({}, 3);
  runtime_model::Deep model(weights);
  runtime_model::DeepFeatures taken;
  runtime_model::Forecast forecast;
  Rng rng(1, 0);
  std::vector<float> features;  // Iterations x workers x features.
  std::vector<float> seen;
  double expected = 0.0;
  double reference = 0.0;
  for (std::size_t t = 0; t < kIterations; ++t) {
    std::vector<double> row;
    for (std::int64_t w = 0; w < kSequences; ++w) {
      row.push_back(0.1 * std::exp(0.3 * rng.normal()));
    }
    const auto all = runtime_model::arrived(row);
    std::vector<float> of_all;
    taken.take(all, of_all);
    reference = t == 0 ? taken.reference() : reference;
    for (std::int64_t w = 0; w < kSequences; ++w) {
      for (std::size_t i = 0; i < kDeepFeatures; ++i) {
        features.push_back(of_all[i * kSequences + static_cast<std::size_t>(w)]);
      }
      seen.push_back(
          runtime_model::DeepFeatures::relative(row[static_cast<std::size_t>(w)], reference));
    }
    reference = taken.reference();
    if (t >= kFirst) {
      ASSERT_TRUE(model.forecast(forecast));
      expected += runtime_model::mean_log_likelihood(forecast, all) / double(kIterations - kFirst);
    }
    model.observe(all);
  }
  at::Generator generator = at::detail::createCPUGenerator(1);
  const DeepModules::Bound bound =
      DeepModules(weights, at::kCPU)
          .bound(at::from_blob(features.data(), {kIterations, kSequences, kDeepFeatures}),
                 at::from_blob(seen.data(), {kIterations, kSequences}),
                 generator);
  EXPECT_NEAR(bound.predicted.item<double>(), expected, 0.02);
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

// By hand, from the emission that the test above holds to the other network.
TEST(DeepModules, TheDensityOfAJointModelIsTheSumOverItsWorkers) {
  const DeepModules modules(runtime_model::random_weights(9, runtime_model::joint_shape(3)),
                            at::kCPU);
  const at::Tensor latent = at::full({1, 16}, 0.3F);
  const DeepModules::Mixture emitted = modules.emission(latent);
  const std::vector<float> seen{0.4F, -0.2F, 1.0F};
  double expected = 0.0;
  for (std::int64_t w = 0; w < 3; ++w) {
    const double log_sigma = emitted.log_sigma[0][w].item<double>();
    const double z = (seen[static_cast<std::size_t>(w)] - emitted.mean[0][w].item<double>()) /
                     std::exp(log_sigma);
    expected += -0.5 * z * z - log_sigma - 0.918938533;
  }
  const at::Tensor all = at::tensor(seen).unsqueeze(0);
  EXPECT_NEAR(modules.log_density(latent, all).item<double>(), expected, 1e-4);
}

}  // namespace
}  // namespace outpace::fit

#include "runtime_model/deep_weights.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "runtime_model/deep_features.h"

namespace outpace::runtime_model {
namespace {

void add_linear(std::vector<DeepTensor>& to,
                const std::string& name,
                std::uint64_t inputs,
                std::uint64_t outputs) {
  to.push_back({.name = name + ".weight", .dimensions = {outputs, inputs}});
  to.push_back({.name = name + ".bias", .dimensions = {outputs}});
}

}  // namespace

std::size_t DeepTensor::numbers() const {
  std::size_t product = 1;
  for (const std::uint64_t dimension : dimensions) {
    product *= dimension;
  }
  return product;
}

DeepShape joint_shape(std::uint32_t workers) {
  constexpr std::uint32_t kMedium = 64;  // Workers of a cluster that has fewer latent dimensions.
  CHECK(workers >= 1 && workers <= kJointWorkersMost);
  return {
      .hidden = 64, .latent = workers <= kMedium ? 16U : 32U, .components = 1, .workers = workers};
}

std::uint32_t features_of(const DeepShape& shape) {
  return is_joint(shape) ? 2 * shape.workers : kDeepFeatures;
}

std::vector<DeepTensor> deep_tensors(const DeepShape& shape) {
  for (const std::uint32_t size : {shape.hidden, shape.latent, shape.components}) {
    CHECK(size >= 1 && size <= kDeepShapeMost);
  }
  const std::uint64_t hidden = shape.hidden;
  const std::uint64_t latent = shape.latent;
  const std::uint64_t features = features_of(shape);
  const std::uint64_t emitted =
      std::uint64_t{shape.components} * std::max<std::uint64_t>(1, shape.workers);
  std::vector<DeepTensor> all;
  all.push_back({.name = "gru.weight_ih_l0", .dimensions = {3 * hidden, features}});
  all.push_back({.name = "gru.weight_hh_l0", .dimensions = {3 * hidden, hidden}});
  all.push_back({.name = "gru.bias_ih_l0", .dimensions = {3 * hidden}});
  all.push_back({.name = "gru.bias_hh_l0", .dimensions = {3 * hidden}});
  add_linear(all, "combine", latent, hidden);
  add_linear(all, "posterior_mean", hidden + latent + features, latent);
  add_linear(all, "posterior_log_sigma", hidden, latent);
  add_linear(all, "gate_hidden", latent, hidden);
  add_linear(all, "gate", hidden, latent);
  add_linear(all, "proposal_hidden", latent, hidden);
  add_linear(all, "proposal", hidden, latent);
  add_linear(all, "keep", latent, latent);
  add_linear(all, "prior_log_sigma", latent, latent);
  add_linear(all, "emission_hidden", latent, hidden);
  add_linear(all, "emission", hidden + latent, 3 * emitted);
  return all;
}

void check(const DeepWeights& weights) {
  if (is_joint(weights.shape) && weights.shape.components != 1) {
    throw Error(ExitCode::kUnreadable,
                "the joint model has " + std::to_string(weights.shape.components) +
                    " lognormals a worker; it takes one");
  }
  std::size_t needed = 0;
  for (const DeepTensor& tensor : deep_tensors(weights.shape)) {
    needed += tensor.numbers();
  }
  if (weights.numbers.size() != needed) {
    throw Error(ExitCode::kUnreadable,
                "the model has " + std::to_string(weights.numbers.size()) +
                    " weights; its shape needs " + std::to_string(needed));
  }
  if (!std::isfinite(weights.mean) || !(weights.deviation > 0.0) ||
      !std::isfinite(weights.deviation)) {
    throw Error(ExitCode::kUnreadable, "the model's unit of runtimes is not a positive number");
  }
  for (const float value : weights.numbers) {
    if (!std::isfinite(value)) {
      throw Error(ExitCode::kUnreadable, "a weight of the model is not a finite number");
    }
  }
}

}  // namespace outpace::runtime_model

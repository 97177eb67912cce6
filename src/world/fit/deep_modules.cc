#include "fit/deep_modules.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/check.h"
#include "runtime_model/deep.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepTensor;
using runtime_model::DeepWeights;

constexpr std::int64_t kUnjudged = 4;  // First iterations of a sequence.
// As in runtime_model/deep_network.cc.
constexpr double kLogSigmaMost = 2.0;
constexpr double kLatentLogSigmaLeast = -6.0;
constexpr double kEmissionLogSigmaLeast = -4.0;

}  // namespace

DeepModules::DeepModules(const DeepWeights& weights, const at::Device& device)
    : shape_(weights.shape), mean_(weights.mean), deviation_(weights.deviation), device_(device) {
  runtime_model::check(weights);
  std::size_t next = 0;
  for (const DeepTensor& tensor : runtime_model::deep_tensors(shape_)) {
    std::vector<std::int64_t> sizes(tensor.dimensions.begin(), tensor.dimensions.end());
    at::Tensor made = at::empty(sizes);
    std::copy_n(weights.numbers.begin() + static_cast<std::ptrdiff_t>(next),
                tensor.numbers(),
                made.data_ptr<float>());
    next += tensor.numbers();
    places_[tensor.name] = parameters_.size();
    parameters_.push_back(made.to(device_).requires_grad_());
  }
  std::vector<float> draws = runtime_model::deep_draws(shape_.latent);
  draws_ = at::from_blob(draws.data(),
                         {static_cast<std::int64_t>(runtime_model::kDeepDraws),
                          2,
                          static_cast<std::int64_t>(shape_.latent)})
               .clone()
               .to(device_);
}

DeepWeights DeepModules::weights() const {
  DeepWeights all{.shape = shape_, .numbers = {}, .mean = mean_, .deviation = deviation_};
  for (const at::Tensor& parameter : parameters_) {
    const at::Tensor here = parameter.detach().to(at::kCPU).contiguous();
    all.numbers.insert(
        all.numbers.end(), here.data_ptr<float>(), here.data_ptr<float>() + here.numel());
  }
  return all;
}

const at::Tensor& DeepModules::tensor(const std::string& name) const {
  return parameters_[places_.at(name)];
}

at::Tensor DeepModules::linear(const at::Tensor& inputs, const std::string& name) const {
  return at::linear(inputs, tensor(name + ".weight"), tensor(name + ".bias"));
}

at::Tensor DeepModules::noise(const at::Tensor& like, at::Generator& generator) const {
  return at::randn(like.sizes(), generator).to(device_);
}

at::Tensor DeepModules::recur(const at::Tensor& features) const {
  const at::Tensor none = at::zeros({1, features.size(1), static_cast<std::int64_t>(shape_.hidden)},
                                    features.options());
  return std::get<0>(at::gru(features,
                             none,
                             {tensor("gru.weight_ih_l0"),
                              tensor("gru.weight_hh_l0"),
                              tensor("gru.bias_ih_l0"),
                              tensor("gru.bias_hh_l0")},
                             /*has_biases=*/true,
                             /*num_layers=*/1,
                             /*dropout=*/0.0,
                             /*train=*/true,
                             /*bidirectional=*/false,
                             /*batch_first=*/false));
}

DeepModules::Normals DeepModules::posterior(const at::Tensor& latent,
                                            const at::Tensor& hidden,
                                            const at::Tensor& features) const {
  const at::Tensor combined = 0.5 * (at::tanh(linear(latent, "combine")) + hidden);
  return {.mean = linear(at::cat({combined, latent, features}, -1), "posterior_mean"),
          .log_sigma = at::clamp(
              linear(combined, "posterior_log_sigma"), kLatentLogSigmaLeast, kLogSigmaMost)};
}

DeepModules::Normals DeepModules::transition(const at::Tensor& latent) const {
  const at::Tensor gate = at::sigmoid(linear(at::relu(linear(latent, "gate_hidden")), "gate"));
  const at::Tensor proposal = linear(at::relu(linear(latent, "proposal_hidden")), "proposal");
  return {.mean = (1.0 - gate) * linear(latent, "keep") + gate * proposal,
          .log_sigma = at::clamp(
              linear(at::relu(proposal), "prior_log_sigma"), kLatentLogSigmaLeast, kLogSigmaMost)};
}

DeepModules::Mixture DeepModules::emission(const at::Tensor& latent) const {
  const at::Tensor hidden = at::relu(linear(latent, "emission_hidden"));
  const std::vector<at::Tensor> parts =
      linear(at::cat({hidden, latent}, -1), "emission").chunk(3, -1);
  return {.log_weight = at::log_softmax(by_worker(parts[0]), -2).flatten(-2),
          .mean = parts[1],
          .log_sigma = at::clamp(parts[2], kEmissionLogSigmaLeast, kLogSigmaMost)};
}

at::Tensor DeepModules::log_density(const at::Tensor& latent, const at::Tensor& seen) const {
  const Mixture mixture = emission(latent);
  const at::Tensor log_sigma = by_worker(mixture.log_sigma);
  const at::Tensor of_workers = is_joint(shape_) ? seen : seen.unsqueeze(-1);
  const at::Tensor z = (of_workers.unsqueeze(-2) - by_worker(mixture.mean)) * at::exp(-log_sigma);
  const at::Tensor each =
      at::logsumexp(by_worker(mixture.log_weight) - 0.5 * z * z - log_sigma, -2) -
      0.5 * std::log(2.0 * std::numbers::pi);
  return each.sum(-1);
}

at::Tensor DeepModules::by_worker(const at::Tensor& emitted) const {
  return emitted.unflatten(-1, {static_cast<std::int64_t>(shape_.components), -1});
}

// Follows the means, as the forecast does.
DeepModules::Normals DeepModules::infer(const at::Tensor& features) const {
  const at::Tensor hidden = recur(features);
  at::Tensor latent =
      at::zeros({features.size(1), static_cast<std::int64_t>(shape_.latent)}, features.options());
  std::vector<at::Tensor> means;
  std::vector<at::Tensor> log_sigmas;
  for (std::int64_t t = 0; t < features.size(0); ++t) {
    const Normals q = posterior(latent, hidden[t], features[t]);
    latent = q.mean;
    means.push_back(q.mean);
    log_sigmas.push_back(q.log_sigma);
  }
  return {.mean = at::stack(means), .log_sigma = at::stack(log_sigmas)};
}

at::Tensor DeepModules::log_forecast(const Normals& before, const at::Tensor& seen) const {
  const auto move = [&](const Normals& from, std::int64_t which) {
    return from.mean + at::exp(from.log_sigma) * draws_.select(1, which).unsqueeze(1).unsqueeze(1);
  };
  const at::Tensor after = move(transition(move(before, 0)), 1);
  return at::logsumexp(log_density(after, seen.unsqueeze(0)), 0) -
         std::log(static_cast<double>(runtime_model::kDeepDraws));
}

DeepModules::Bound DeepModules::bound(const at::Tensor& features,
                                      const at::Tensor& seen,
                                      at::Generator& generator) const {
  const Normals all = infer(features);
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return Normals{.mean = all.mean.slice(0, from, to),
                   .log_sigma = all.log_sigma.slice(0, from, to)};
  };
  const Normals before = part(kUnjudged - 1, features.size(0) - 1);
  const Normals q = part(kUnjudged, features.size(0));
  const auto draw = [&](const Normals& from) {
    return from.mean + at::exp(from.log_sigma) * noise(from.mean, generator);
  };
  const Normals p = transition(draw(before));
  const at::Tensor scores = seen.slice(0, kUnjudged);
  const at::Tensor apart = (q.mean - p.mean) * at::exp(-p.log_sigma);
  const at::Tensor divergence =
      p.log_sigma - q.log_sigma +
      0.5 * (at::exp(2.0 * (q.log_sigma - p.log_sigma)) + apart * apart - 1.0);
  return {.reconstruction = log_density(draw(q), scores).mean(),
          .divergence = divergence.sum(-1).mean(),
          .predicted = is_joint(shape_) ? at::Tensor() : log_forecast(before, scores).mean()};
}

}  // namespace outpace::fit

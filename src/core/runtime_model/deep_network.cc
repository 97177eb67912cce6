#include "runtime_model/deep_network.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "runtime_model/deep_features.h"

namespace outpace::runtime_model {
namespace {

// Indices into deep_tensors().
enum Tensor : std::size_t {
  kGruWeightInput,
  kGruWeightHidden,
  kGruBiasInput,
  kGruBiasHidden,
  kCombine,
  kPosteriorMean = kCombine + 2,
  kPosteriorLogSigma = kPosteriorMean + 2,
  kGateHidden = kPosteriorLogSigma + 2,
  kGate = kGateHidden + 2,
  kProposalHidden = kGate + 2,
  kProposal = kProposalHidden + 2,
  kKeep = kProposal + 2,
  kPriorLogSigma = kKeep + 2,
  kEmissionHidden = kPriorLogSigma + 2,
  kEmission = kEmissionHidden + 2,
};

constexpr float kLogSigmaMost = 2.0F;
constexpr float kLatentLogSigmaLeast = -6.0F;
constexpr float kEmissionLogSigmaLeast = -4.0F;

inline float sigmoid(float x) {
  return 1.0F / (1.0F + quick_exp(-x));
}

inline float tanh_of(float x) {
  return 1.0F - 2.0F / (1.0F + quick_exp(2.0F * x));
}

void relu(std::vector<float>& values) {
  for (float& value : values) {
    value = std::max(value, 0.0F);
  }
}

void clamp_all(std::vector<float>& values, float least) {
  for (float& value : values) {
    value = std::clamp(value, least, kLogSigmaMost);
  }
}

}  // namespace

float quick_exp(float x) {
  // exp(x) = 2^whole * exp(rest), with |rest| <= ln 2 / 2: Taylor polynomial of degree 7.
  constexpr float kLog2OfE = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // Few enough bits that products with `whole` are exact.
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr int kAbove = 128;  // Makes the conversion, which truncates towards 0, round down.
  const float within = x > -80.0F ? std::min(x, 80.0F) : -80.0F;  // NaN becomes -80, too.
  const int whole = static_cast<int>(within * kLog2OfE + (kAbove + 0.5F)) - kAbove;
  const auto times = static_cast<float>(whole);
  const float rest = (within - times * kLn2High) - times * kLn2Low;
  float sum = 1.0F / 5040.0F;
  sum = sum * rest + 1.0F / 720.0F;
  sum = sum * rest + 1.0F / 120.0F;
  sum = sum * rest + 1.0F / 24.0F;
  sum = sum * rest + 1.0F / 6.0F;
  sum = sum * rest + 0.5F;
  sum = sum * rest + 1.0F;
  sum = sum * rest + 1.0F;
  constexpr int kBias = 127;
  constexpr int kMantissaBits = 23;
  return sum * std::bit_cast<float>((whole + kBias) * (1 << kMantissaBits));
}

DeepNetwork::DeepNetwork(DeepWeights weights) : weights_(std::move(weights)) {
  check(weights_);
  std::size_t next = 0;
  for (const DeepTensor& tensor : deep_tensors(weights_.shape)) {
    begins_.push_back(next);
    next += tensor.numbers();
  }
  begins_.push_back(next);
}

DeepNetwork::Layer DeepNetwork::layer(std::size_t weight, std::size_t bias) const {
  const std::span<const float> all = weights_.numbers;
  return {.weight = all.subspan(begins_[weight], begins_[weight + 1] - begins_[weight]),
          .bias = all.subspan(begins_[bias], begins_[bias + 1] - begins_[bias])};
}

void DeepNetwork::apply(const Layer& layer,
                        std::span<const float> inputs,
                        std::vector<float>& out) {
  const std::size_t outputs = layer.bias.size();
  const std::size_t width = layer.weight.size() / outputs;
  const std::size_t workers = inputs.size() / width;
  out.resize(outputs * workers);
  for (std::size_t o = 0; o < outputs; ++o) {
    float* const to = out.data() + o * workers;
    std::fill(to, to + workers, layer.bias[o]);
    for (std::size_t i = 0; i < width; ++i) {
      const float weight = layer.weight[o * width + i];
      const float* const from = inputs.data() + i * workers;
      for (std::size_t w = 0; w < workers; ++w) {
        to[w] += weight * from[w];
      }
    }
  }
}

DeepNetwork::State DeepNetwork::begin(std::size_t columns) const {
  return {.hidden = std::vector<float>(weights_.shape.hidden * columns, 0.0F),
          .mean = std::vector<float>(weights_.shape.latent * columns, 0.0F),
          .log_sigma = std::vector<float>(weights_.shape.latent * columns, 0.0F)};
}

void DeepNetwork::step(std::span<const float> features, State& state) {
  apply(layer(kGruWeightInput, kGruBiasInput), features, from_features_);
  apply(layer(kGruWeightHidden, kGruBiasHidden), state.hidden, from_hidden_);
  const std::size_t size = state.hidden.size();  // The size of each gate: reset, update, new.
  for (std::size_t i = 0; i < size; ++i) {
    const float reset = sigmoid(from_features_[i] + from_hidden_[i]);
    const float update = sigmoid(from_features_[size + i] + from_hidden_[size + i]);
    const float fresh = tanh_of(from_features_[2 * size + i] + reset * from_hidden_[2 * size + i]);
    state.hidden[i] = (1.0F - update) * fresh + update * state.hidden[i];
  }
  apply(layer(kCombine, kCombine + 1), state.mean, combined_);
  for (std::size_t i = 0; i < size; ++i) {
    combined_[i] = 0.5F * (tanh_of(combined_[i]) + state.hidden[i]);
  }
  apply(layer(kPosteriorLogSigma, kPosteriorLogSigma + 1), combined_, state.log_sigma);
  clamp_all(state.log_sigma, kLatentLogSigmaLeast);
  combined_.insert(combined_.end(), state.mean.begin(), state.mean.end());
  combined_.insert(combined_.end(), features.begin(), features.end());
  apply(layer(kPosteriorMean, kPosteriorMean + 1), combined_, state.mean);
}

void DeepNetwork::transition(std::span<const float> latent, Normals& out) {
  apply(layer(kGateHidden, kGateHidden + 1), latent, hidden_);
  relu(hidden_);
  apply(layer(kGate, kGate + 1), hidden_, gate_);
  apply(layer(kProposalHidden, kProposalHidden + 1), latent, hidden_);
  relu(hidden_);
  apply(layer(kProposal, kProposal + 1), hidden_, proposal_);
  apply(layer(kKeep, kKeep + 1), latent, out.mean);
  for (std::size_t i = 0; i < out.mean.size(); ++i) {
    const float gate = sigmoid(gate_[i]);
    out.mean[i] = (1.0F - gate) * out.mean[i] + gate * proposal_[i];
  }
  relu(proposal_);
  apply(layer(kPriorLogSigma, kPriorLogSigma + 1), proposal_, out.log_sigma);
  clamp_all(out.log_sigma, kLatentLogSigmaLeast);
}

void DeepNetwork::emission(std::span<const float> latent, Mixture& out) {
  apply(layer(kEmissionHidden, kEmissionHidden + 1), latent, hidden_);
  relu(hidden_);
  hidden_.insert(hidden_.end(), latent.begin(), latent.end());
  apply(layer(kEmission, kEmission + 1), hidden_, out_);
  const auto third = static_cast<std::ptrdiff_t>(out_.size() / 3);
  out.logit.assign(out_.begin(), out_.begin() + third);
  out.mean.assign(out_.begin() + third, out_.begin() + 2 * third);
  out.log_sigma.assign(out_.begin() + 2 * third, out_.end());
  clamp_all(out.log_sigma, kEmissionLogSigmaLeast);
}

}  // namespace outpace::runtime_model

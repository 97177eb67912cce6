// The forward pass of the deep runtime model's networks. It does without libtorch, because it runs
// in the server.
//
// A deep Markov model of log runtimes, of one of two shapes:
//
//   deep        of one worker's; all workers share its weights, and each is a column. The features
//               (deep_features.h) carry what the workers have in common
//   deep-joint  of a whole cluster's, which is the only column: x_t has a number for each worker
//
//   p(z_t | z_t-1)       normal;  mean = (1 - g) * keep(z) + g * proposal(z),  g in (0, 1) a gate
//   p(x_t | z_t)         a mixture of lognormals
//   q(z_t | m_t-1, h_t)  normal;  h_t = gru(h_t-1, features_t), c = (tanh(combine(m)) + h) / 2,
//                        mean m_t = posterior_mean(c, m, features),
//                        log sigma = posterior_log_sigma(c)
//
// Krishnan, Shalit, Sontag, "Structured Inference Networks for Nonlinear State Space Models" (AAAI
// 2017), sections 3 and 5: the gated transition and the structured inference network. The inference
// network sees the past alone (ST-L), since it filters, and follows its own means instead of
// drawing. Unlike theirs, the emission is a mixture and the posterior's mean sees the features and
// z directly. Both let the model follow a level to within a few per cent.
//
// Matrices are units x columns, so that sums run in the same order on every processor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "runtime_model/deep_weights.h"

namespace outpace::runtime_model {

class DeepNetwork {
 public:
  // REQUIRES: check(weights) passes.
  explicit DeepNetwork(DeepWeights weights);

  [[nodiscard]] const DeepShape& shape() const { return weights_.shape; }

  // The recurrent state of some columns and their q. All are 0 before the first observation.
  struct State {
    std::vector<float> hidden;     // hidden x columns
    std::vector<float> mean;       // latent x columns
    std::vector<float> log_sigma;  // latent x columns, of q

    void keep(Archive& archive) { archive("hidden", hidden)("mean", mean)("log_sigma", log_sigma); }
  };
  [[nodiscard]] State begin(std::size_t columns) const;
  // Advances the state by one iteration; `features` is features x columns.
  void step(std::span<const float> features, State& state);

  struct Normals {
    std::vector<float> mean;       // latent x columns
    std::vector<float> log_sigma;  // latent x columns
  };
  // p(z_t+1 | z) for z, a matrix of latent x columns.
  void transition(std::span<const float> latent, Normals& out);

  struct Mixture {
    std::vector<float> logit;      // components x workers; not normalised
    std::vector<float> mean;       // components x workers, in log seconds
    std::vector<float> log_sigma;  // components x workers
  };
  // p(x | z) for z, a matrix of latent x columns.
  void emission(std::span<const float> latent, Mixture& out);

 private:
  struct Layer {
    std::span<const float> weight;  // outputs x inputs
    std::span<const float> bias;
  };
  [[nodiscard]] Layer layer(std::size_t weight, std::size_t bias) const;
  static void apply(const Layer& layer, std::span<const float> inputs, std::vector<float>& out);

  const DeepWeights weights_;
  std::vector<std::size_t> begins_;  // The offset of each tensor in weights_.numbers.
  // Scratch space.
  std::vector<float> from_features_;
  std::vector<float> from_hidden_;
  std::vector<float> combined_;
  std::vector<float> hidden_;
  std::vector<float> gate_;
  std::vector<float> proposal_;
  std::vector<float> out_;
};

// exp(x) for |x| <= 80, and its value at the nearer end beyond. The relative error is at most 2e-7.
// Branchless.
[[nodiscard]] float quick_exp(float x);

}  // namespace outpace::runtime_model

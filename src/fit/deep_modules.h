// The deep runtime model in libtorch, to be fitted: what runtime_model/deep_network.h computes, and
// the lower bound whose gradient the fit follows.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "runtime_model/deep_weights.h"

namespace outpace::fit {

class DeepModules {
 public:
  DeepModules(const runtime_model::DeepWeights& weights, const at::Device& device);

  [[nodiscard]] runtime_model::DeepWeights weights() const;
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

  struct Normals {
    at::Tensor mean;
    at::Tensor log_sigma;
  };
  struct Mixture {
    at::Tensor log_weight;
    at::Tensor mean;
    at::Tensor log_sigma;
  };
  // Of features as iterations x sequences x features: h of every iteration.
  [[nodiscard]] at::Tensor recur(const at::Tensor& features) const;
  // q(z_t | E_q[z_t-1], h_t) and p(z_t+1 | z); the last dimension is z's, h's or the features'.
  [[nodiscard]] Normals posterior(const at::Tensor& latent,
                                  const at::Tensor& hidden,
                                  const at::Tensor& features) const;
  [[nodiscard]] Normals transition(const at::Tensor& latent) const;
  [[nodiscard]] Mixture emission(const at::Tensor& latent) const;
  // log p(x | z), of x as z without its last dimension.
  [[nodiscard]] at::Tensor log_density(const at::Tensor& latent, const at::Tensor& seen) const;

  // Means over iterations (but for the first few, whose past is not known) and sequences.
  struct Bound {
    at::Tensor reconstruction;  // E_q[log p(x_t | z_t)]
    at::Tensor divergence;      // E_q[KL(q(z_t | h_t) || p(z_t | z_t-1))]
    // log of the mean over draws of p(x_t | z_t), z_t ~ p(z_t | z_t-1), z_t-1 ~ q: as
    // runtime_model/deep.h forecasts, by the same draws.
    at::Tensor foretold;
  };
  // `features`: iterations x sequences x features; `seen`: iterations x sequences.
  [[nodiscard]] Bound bound(const at::Tensor& features,
                            const at::Tensor& seen,
                            at::Generator& generator) const;

 private:
  [[nodiscard]] const at::Tensor& tensor(const std::string& name) const;
  [[nodiscard]] at::Tensor linear(const at::Tensor& inputs, const std::string& name) const;
  [[nodiscard]] at::Tensor noise(const at::Tensor& like, at::Generator& generator) const;
  // q(z_t) of every iteration.
  [[nodiscard]] Normals infer(const at::Tensor& features) const;
  // log p(x_t | what came before), of q(z_t-1) and x_t; iterations x sequences.
  [[nodiscard]] at::Tensor foretell(const Normals& before, const at::Tensor& seen) const;

  runtime_model::DeepShape shape_;
  at::Device device_;
  std::vector<at::Tensor> parameters_;  // In the order of deep_tensors().
  std::map<std::string, std::size_t> places_;
  at::Tensor draws_;  // kDeepDraws x 2 x latent.
};

}  // namespace outpace::fit

// The deep runtime models in libtorch, for fitting: the computation of
// runtime_model/deep_network.h, and the lower bound that the fit maximises.

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
  struct Mixture {  // The last dimension: of each lognormal, all workers that are emitted.
    at::Tensor log_weight;
    at::Tensor mean;
    at::Tensor log_sigma;
  };
  // h of every iteration, for features of iterations x sequences x features.
  [[nodiscard]] at::Tensor recur(const at::Tensor& features) const;
  // q(z_t | E_q[z_t-1], h_t) and p(z_t+1 | z). The last dimension is that of z, h or the features.
  [[nodiscard]] Normals posterior(const at::Tensor& latent,
                                  const at::Tensor& hidden,
                                  const at::Tensor& features) const;
  [[nodiscard]] Normals transition(const at::Tensor& latent) const;
  [[nodiscard]] Mixture emission(const at::Tensor& latent) const;
  // log p(x | z). The shape of x is that of z without its last dimension; for a joint model, with
  // the workers' runtimes in its place.
  [[nodiscard]] at::Tensor log_density(const at::Tensor& latent, const at::Tensor& seen) const;

  // Means over sequences and iterations, except the first few iterations, whose past is unknown.
  struct Bound {
    at::Tensor reconstruction;  // E_q[log p(x_t | z_t)]
    at::Tensor divergence;      // E_q[KL(q(z_t | h_t) || p(z_t | z_t-1))]
    // Log of the mean over draws of p(x_t | z_t), with z_t ~ p(z_t | z_t-1) and z_t-1 ~ q: the
    // forecast of runtime_model/deep.h, with the same draws. Undefined for a joint model, which is
    // fitted by the bound alone.
    at::Tensor predicted;
  };
  // `features`: iterations x sequences x features; `seen`: iterations x sequences, for a joint
  // model x workers.
  [[nodiscard]] Bound bound(const at::Tensor& features,
                            const at::Tensor& seen,
                            at::Generator& generator) const;

 private:
  [[nodiscard]] const at::Tensor& tensor(const std::string& name) const;
  [[nodiscard]] at::Tensor linear(const at::Tensor& inputs, const std::string& name) const;
  [[nodiscard]] at::Tensor noise(const at::Tensor& like, at::Generator& generator) const;
  // q(z_t) of every iteration.
  [[nodiscard]] Normals infer(const at::Tensor& features) const;
  // log p(x_t | the past), from q(z_t-1) and x_t; iterations x sequences.
  [[nodiscard]] at::Tensor log_forecast(const Normals& before, const at::Tensor& seen) const;

  // Lognormals x workers, in place of the last dimension.
  [[nodiscard]] at::Tensor by_worker(const at::Tensor& emitted) const;

  runtime_model::DeepShape shape_;
  double mean_;
  double deviation_;
  at::Device device_;
  std::vector<at::Tensor> parameters_;  // In the order of deep_tensors().
  std::map<std::string, std::size_t> places_;
  at::Tensor draws_;  // kDeepDraws x 2 x latent.
};

}  // namespace outpace::fit

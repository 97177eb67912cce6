// LAMB: adam's step, scaled anew in every tensor so that it is as long as the rate's share of the
// tensor's weights. For large mini-batches.
//
// g is the unweighted mean and the weight of stale gradients scales the step, as in adam.h. What
// the paper calls a layer is a tensor of the network here: a weight matrix and its bias have a
// ratio each. A tensor whose weights, or whose step, are all 0 has the ratio 1, or it could never
// move.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/optimizer.h"

namespace outpace::update {

struct LambOptions {
  double beta1 = 0.9;     // In [0, 1).
  double beta2 = 0.999;   // In [0, 1).
  double epsilon = 1e-6;  // Above 0; unit of the gradient.
};

//   m  = beta1 * m + (1 - beta1) * g
//   v  = beta2 * v + (1 - beta2) * g^2
//   u  = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay * w
//   w -= rate * mean_weight * (|w| / |u|) * u        |.|: the 2-norm over the tensor
//
// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", ICLR 2020,
// algorithm 2, with phi(z) = z.
class Lamb final : public Optimizer {
 public:
  // `tensors`: how many numbers each has, in the order of the flat buffer.
  Lamb(const LambOptions& options, std::vector<std::size_t> tensors);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  [[nodiscard]] bool scale_invariant() const override { return true; }

 private:
  // What all tensors of one step have in common.
  struct Common {
    float unbias1;
    float unbias2;
    float decay;
    double rate;
  };
  void step_tensor(const Common& common,
                   std::size_t begin,
                   std::span<const float> mean,
                   std::span<float> weights);

  const LambOptions options_;
  const std::vector<std::size_t> tensors_;
  double beta1_power_ = 1.0;  // beta1^t; multiplied up, since pow differs from library to library.
  double beta2_power_ = 1.0;
  std::vector<float> first_;
  std::vector<float> second_;
  std::vector<float> direction_;  // u of one tensor; a field only to keep its memory.
};

}  // namespace outpace::update

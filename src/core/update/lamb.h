// LAMB: Adam's step, rescaled per tensor so that its length is the learning rate times the length
// of the tensor's weights. For large mini-batches.
//
// g is the unweighted mean and the weight of stale gradients scales the step, as in adam.h. The
// paper's layers are tensors of the network here, so a weight matrix and its bias have a ratio
// each. A tensor whose weights or whose step are all 0 has the ratio 1; otherwise it could never
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
  double epsilon = 1e-6;  // Above 0; in units of the gradient.
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
  // `tensors`: the size of each tensor, in the order of the flat buffer.
  Lamb(const LambOptions& options, std::vector<std::size_t> tensors);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  [[nodiscard]] bool scale_invariant() const override { return true; }
  void keep(Archive& archive) override {
    archive("beta1_power", beta1_power_)("beta2_power", beta2_power_);
    archive("first", first_)("second", second_);
  }

 private:
  // What all tensors of one step share.
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
  // beta1^t, by repeated multiplication, because pow() differs between libraries.
  double beta1_power_ = 1.0;
  double beta2_power_ = 1.0;
  std::vector<float> first_;
  std::vector<float> second_;
  std::vector<float> direction_;  // u of one tensor; a field only to reuse its memory.
};

}  // namespace outpace::update

// RMSprop: a step per weight, by its gradient over the root of a running mean of its square.
//
// g is the unweighted mean, and the weight of stale gradients scales the step, as in adam.h. A |g'|
// above 1.8e19 stops its weight but never makes it infinite.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/weightwise.h"

namespace outpace::update {

struct RmsPropOptions {
  double alpha = 0.99;    // In [0, 1).
  double epsilon = 1e-8;  // Above 0; in units of the gradient.
  double mu = 0.0;        // Momentum; in [0, 1).
  bool centered = false;
};

//   g' = g + decay * w
//   v  = alpha * v + (1 - alpha) * g'^2
//   d  = g' / (sqrt(v) + epsilon)
//   b  = mu * b + d
//   w -= rate * mean_weight * b
//
// Centered, the gradient's variance is in the place of v, with m its running mean:
//
//   v  = alpha * (v + (1 - alpha) * (g' - m)^2),    m = alpha * m + (1 - alpha) * g'
//
// which is the mean of g'^2 less m^2. PyTorch subtracts the two; the difference may fall below 0 by
// rounding, and its root is then not a number.
//
// Tieleman, Hinton, "Lecture 6.5 - rmsprop", COURSERA: Neural Networks for Machine Learning, 2012;
// centered: Graves, "Generating Sequences With Recurrent Neural Networks", 2013, eqs. 38 to 41.
// Both in the form of torch.optim.RMSprop.
class RmsProp final : public Weightwise {
 public:
  RmsProp(const RmsPropOptions& options, std::size_t size);

  void keep(Archive& archive) override {
    archive("square", square_)("mean", mean_)("velocity", velocity_);
  }
  // "square" is v, which is the variance if centered.
  [[nodiscard]] std::vector<StatePart> state_parts() override;

 private:
  void move(const Step& step,
            std::span<const float> mean,
            const float* weights,
            std::span<float> moved) override;
  template <bool kCentered, bool kMomentum>
  void move_as(const Step& step,
               std::span<const float> mean,
               const float* weights,
               std::span<float> moved);

  const RmsPropOptions options_;
  const std::size_t size_;
  std::vector<float> square_;
  std::vector<float> mean_;      // Empty unless centered.
  std::vector<float> velocity_;  // Empty without momentum.
};

}  // namespace outpace::update

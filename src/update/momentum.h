// Gradient descent with a velocity v, heavy-ball or with Nesterov's look-ahead, both in PyTorch's
// form (torch.optim.SGD, dampening 0). The rate is outside the velocity, so that a change of rate
// acts at once. Stale gradients enter the velocity already weighted.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "update/optimizer.h"

namespace outpace::update {

//   g' = g + decay * mean_weight * w
//   v  = mu * v + g'
//   w -= rate * v                 momentum: Polyak, "Some methods of speeding up the convergence
//                                 of iteration methods", 1964
//   w -= rate * (g' + mu * v)     nesterov: Sutskever et al., "On the importance of initialization
//                                 and momentum in deep learning", ICML 2013, eqs. 3 and 4
class Momentum final : public Optimizer {
 public:
  enum class Form : std::uint8_t { kHeavyBall, kNesterov };

  // REQUIRES: 0 <= mu < 1.
  Momentum(Form form, double mu, std::size_t size);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) override;
  [[nodiscard]] bool scale_invariant() const override { return false; }
  void keep(Archive& archive) override { archive("velocity", velocity_); }

 private:
  // `weight(i)`: the weight before the step, which the loop over `moved` has not passed yet.
  template <typename Weight>
  void move(const Step& step, std::span<const float> mean, Weight weight, std::span<float> moved);

  const Form form_;
  const float mu_;
  std::vector<float> velocity_;
};

}  // namespace outpace::update

// Gradient descent with a velocity v, heavy-ball or with Nesterov's look-ahead, both in PyTorch's
// form (torch.optim.SGD, dampening 0). The rate is outside the velocity, so that a change of rate
// acts at once. Stale gradients enter the velocity already weighted.
//
// Under an asynchronous policy an update is a share s of a round of all workers, and its gradients
// are about a round old. The velocity then fades by mu in a round instead of in an update, and both
// forms look ahead by a round: workers compute where the velocity alone will have carried the
// weights when their gradients come.

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
//
// With s < 1, and m = mu^s:
//
//   v1 = m * v + (1 - m) / (1 - mu) * g' / s
//   w -= rate * (s * v1 + L * (v1 - v))
//   L  = s * (m + m^2 + ... + m^(1/s)) = s m (1 - mu) / (1 - m)
//
// The way of 1 / s updates without gradients is rate * L * v, by which w is ahead. Gradients that
// are all alike change v in 1 / s updates as their mean does in a synchronous one; s = 1 is
// nesterov. The look-ahead: Hakimi, Barkai, Gabel, Schuster, "Taming Momentum in a Distributed
// Asynchronous Environment" (DANA), 2019, whose velocities, one for each worker, add up to v where
// workers are alike. That mu holds for a round: Shi, Yang, Li, "Ordered Momentum for Asynchronous
// SGD", NeurIPS 2024.
class Momentum final : public Optimizer {
 public:
  enum class Form : std::uint8_t { kHeavyBall, kNesterov };
  enum class Over : std::uint8_t {
    kRound,  // As above.
    kUpdate  // mu holds for an update, whatever share of a round it is: s counts as 1.
  };

  // REQUIRES: 0 <= mu < 1.
  Momentum(Form form, double mu, std::size_t size, Over over = Over::kRound);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) override;
  [[nodiscard]] bool scale_invariant() const override { return false; }
  void keep(Archive& archive) override { archive("velocity", velocity_); }
  [[nodiscard]] std::vector<StatePart> state_parts() override {
    return {{.name = "velocity", .numbers = velocity_, .of_squares = false}};
  }

 private:
  // `weight(i)`: the weight before the step, which the loop over `moved` has not passed yet.
  template <typename Weight>
  void move(const Step& step, std::span<const float> mean, Weight weight, std::span<float> moved);
  template <typename Weight>
  void move_by_share(const Step& step,
                     std::span<const float> mean,
                     Weight weight,
                     std::span<float> moved);

  const Form form_;
  const Over over_;
  const double exact_mu_;
  const float mu_;
  std::vector<float> velocity_;
};

}  // namespace outpace::update

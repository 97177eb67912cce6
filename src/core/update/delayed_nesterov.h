// Delayed Nesterov: every update moves the weights against its gradient, and the velocity acts once
// in a round of all workers. For local steps, whose gradients are long: a velocity that moves the
// weights at every push moves them several times as far in a round.
//
// With s, an update's share of a round (Step::share), and g' = g + decay * mean_weight * w:
//
//   each update:              w -= rate * g';  D += g'
//   once the shares since the last time add up to 1, beside that:
//                             v = mu * v + D;  w -= rate * mu * v;  D = 0
//
// Liu et al., "Asynchronous Local-SGD Training for Language Modeling", 2024 (arXiv 2401.09135),
// delayed Nesterov with c = 0, where N workers push Delta: w -= rate * Delta / N, and after N
// pushes v = mu * v + D / N. The 1 / N is here the staleness rule's weight of a gradient (`share`),
// so g has it already. A synchronous update is a round, and nesterov to the bit. Rounds are counted
// by shares, so that workers may come and go within one, and the policy may change: what D has then
// goes into the velocity with the next round's end.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/optimizer.h"

namespace outpace::update {

class DelayedNesterov final : public Optimizer {
 public:
  // REQUIRES: 0 <= mu < 1.
  DelayedNesterov(double mu, std::size_t size);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  [[nodiscard]] bool scale_invariant() const override { return false; }
  void keep(Archive& archive) override;
  [[nodiscard]] std::vector<StatePart> state_parts() override {
    return {{.name = "velocity", .numbers = velocity_, .of_squares = false}};
  }

 private:
  const float mu_;
  std::vector<float> velocity_;
  std::vector<float> since_;  // D; empty until an update is less than a round.
  double round_ = 0.0;        // The sum of the shares in D, below 1.
};

}  // namespace outpace::update

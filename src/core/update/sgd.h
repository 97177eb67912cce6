// Plain stochastic gradient descent (Robbins, Monro, "A Stochastic Approximation Method", 1951).
//
//   g' = g + decay * mean_weight * w
//   w -= rate * g'

#pragma once

#include <cstddef>
#include <span>

#include "update/optimizer.h"

namespace outpace::update {

// Its only state is the size.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(std::size_t size) : size_(size) {}

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) override;
  [[nodiscard]] bool scale_invariant() const override { return false; }
  void keep(Archive& /*archive*/) override {}

 private:
  // `weight(i)`: the weight before the step, which the loop over `moved` has not passed yet.
  template <typename Weight>
  void move(const Step& step, std::span<const float> mean, Weight weight, std::span<float> moved);

  const std::size_t size_;
};

}  // namespace outpace::update

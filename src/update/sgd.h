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
  [[nodiscard]] bool scale_invariant() const override { return false; }
  void keep(Archive& /*archive*/) override {}

 private:
  const std::size_t size_;
};

}  // namespace outpace::update

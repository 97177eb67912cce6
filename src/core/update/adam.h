// Adam and AdamW: a step per weight, scaled by running moments of its gradient.
//
// g is the unweighted mean. A factor on every gradient would cancel between m and sqrt(v), so the
// weight of stale gradients scales the step instead, and the decay with it. A |g'| above 1.8e19
// overflows v, which stops that weight but never makes it infinite. Clip gradients where that may
// happen.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "update/optimizer.h"

namespace outpace::update {

struct AdamOptions {
  double beta1 = 0.9;     // In [0, 1).
  double beta2 = 0.999;   // In [0, 1).
  double epsilon = 1e-8;  // Above 0; in units of the gradient.
};

//   adam:   g' = g + decay * w
//   adamw:  g' = g,  w -= rate * mean_weight * decay * w
//   m  = beta1 * m + (1 - beta1) * g'
//   v  = beta2 * v + (1 - beta2) * g'^2
//   w -= rate * mean_weight * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//
// Kingma, Ba, "Adam", ICLR 2015, algorithm 1; Loshchilov, Hutter, "Decoupled Weight Decay
// Regularization", ICLR 2019, algorithm 2 (with the decay times the rate, as in PyTorch).
class Adam final : public Optimizer {
 public:
  enum class Decay : std::uint8_t { kInGradient, kDecoupled };

  Adam(Decay decay, const AdamOptions& options, std::size_t size);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) override;
  [[nodiscard]] bool scale_invariant() const override { return true; }
  void keep(Archive& archive) override {
    archive("beta1_power", beta1_power_)("beta2_power", beta2_power_);
    archive("first", first_)("second", second_);
  }
  [[nodiscard]] std::vector<StatePart> state_parts() override {
    return {{.name = "first", .numbers = first_, .of_squares = false},
            {.name = "second", .numbers = second_, .of_squares = true}};
  }
  void count_from(std::uint64_t updates) override;

 private:
  // `weight(i)`: the weight before the step, which the loop over `moved` has not passed yet.
  template <typename Weight>
  void move(const Step& step, std::span<const float> mean, Weight weight, std::span<float> moved);

  const Decay decay_;
  const AdamOptions options_;
  // beta1^t, by repeated multiplication, because pow() differs between libraries.
  double beta1_power_ = 1.0;
  double beta2_power_ = 1.0;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace outpace::update

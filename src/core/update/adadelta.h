// Adadelta: a step per weight, in the weight's own units: its gradient times the root of a running
// mean of its squared steps, over that of its squared gradients.
//
// g is the unweighted mean, and the weight of stale gradients scales the step but not the memory of
// it, as in adam.h. A |g'| above 1.8e19 stops its weight but never makes it infinite.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/weightwise.h"

namespace outpace::update {

struct AdadeltaOptions {
  double rho = 0.9;       // In [0, 1).
  double epsilon = 1e-6;  // Above 0; added to both means of squares, under the roots.
};

//   g' = g + decay * w
//   v  = rho * v + (1 - rho) * g'^2
//   d  = sqrt(u + epsilon) / sqrt(v + epsilon) * g'
//   u  = rho * u + (1 - rho) * d^2
//   w -= rate * mean_weight * d
//
// Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012, algorithm 1, whose rate is 1; the
// rate and the decay as in torch.optim.Adadelta.
class Adadelta final : public Weightwise {
 public:
  Adadelta(const AdadeltaOptions& options, std::size_t size);

  void keep(Archive& archive) override { archive("square", square_)("steps", steps_); }
  [[nodiscard]] std::vector<StatePart> state_parts() override {
    return {{.name = "square", .numbers = square_, .of_squares = true},
            {.name = "steps", .numbers = steps_, .of_squares = true}};
  }

 private:
  void move(const Step& step,
            std::span<const float> mean,
            const float* weights,
            std::span<float> moved) override;

  const AdadeltaOptions options_;
  std::vector<float> square_;  // v
  std::vector<float> steps_;   // u
};

}  // namespace outpace::update

// Adagrad: a step per weight, by its gradient over the root of the sum of all its squares so far.
//
// g is the unweighted mean, and the weight of stale gradients scales the step, as in adam.h. A |g'|
// above 1.8e19 stops its weight but never makes it infinite.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "update/weightwise.h"

namespace outpace::update {

struct AdagradOptions {
  double rate_decay = 0.0;  // At least 0; of the rate, by updates.
  double initial = 0.0;     // At least 0; the sum before the first update.
  double epsilon = 1e-10;   // Above 0; in units of the gradient.
};

//   g' = g + decay * w
//   s += g'^2
//   w -= rate * mean_weight / (1 + (t - 1) * rate_decay) * g' / (sqrt(s) + epsilon)
//
// in the t-th update. Duchi, Hazan, Singer, "Adaptive Subgradient Methods for Online Learning and
// Stochastic Optimization", JMLR 12, 2011, with a diagonal matrix; the form, the decay of the rate
// and the initial sum are torch.optim.Adagrad's.
class Adagrad final : public Weightwise {
 public:
  Adagrad(const AdagradOptions& options, std::size_t size);

  void keep(Archive& archive) override { archive("updates", updates_)("sum", sum_); }
  [[nodiscard]] std::vector<StatePart> state_parts() override {
    return {{.name = "sum", .numbers = sum_, .of_squares = true}};
  }
  void count_from(std::uint64_t updates) override { updates_ = updates; }

 private:
  void move(const Step& step,
            std::span<const float> mean,
            const float* weights,
            std::span<float> moved) override;

  const AdagradOptions options_;
  std::uint64_t updates_ = 0;
  std::vector<float> sum_;
};

}  // namespace outpace::update

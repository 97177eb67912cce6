#include "update/adagrad.h"

#include <cmath>

#include "base/check.h"

namespace outpace::update {

Adagrad::Adagrad(const AdagradOptions& options, std::size_t size)
    : options_(options), sum_(size, static_cast<float>(options.initial)) {
  CHECK(options.rate_decay >= 0.0);
  CHECK(options.initial >= 0.0);
  CHECK(options.epsilon > 0.0);
}

void Adagrad::move(const Step& step,
                   std::span<const float> mean,
                   const float* weights,
                   std::span<float> moved) {
  const std::size_t size = sum_.size();
  CHECK(mean.size() == size && moved.size() == size);
  const double slowed = 1.0 + static_cast<double>(updates_) * options_.rate_decay;
  const auto rate = static_cast<float>(step.rate * step.mean_weight / slowed);
  const auto decay = static_cast<float>(step.weight_decay);
  const auto epsilon = static_cast<float>(options_.epsilon);
  const std::span<float> sum(sum_);
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = mean[i] + decay * weights[i];
    sum[i] += gradient * gradient;
    moved[i] = weights[i] - rate * (gradient / (std::sqrt(sum[i]) + epsilon));
  }
  updates_ += 1;
}

}  // namespace outpace::update

#include "update/adadelta.h"

#include <cmath>

#include "base/check.h"

namespace outpace::update {

Adadelta::Adadelta(const AdadeltaOptions& options, std::size_t size)
    : options_(options), square_(size), steps_(size) {
  CHECK(options.rho >= 0.0 && options.rho < 1.0);
  CHECK(options.epsilon > 0.0);
}

void Adadelta::move(const Step& step,
                    std::span<const float> mean,
                    const float* weights,
                    std::span<float> moved) {
  const std::size_t size = square_.size();
  CHECK(mean.size() == size && moved.size() == size);
  const auto rate = static_cast<float>(step.rate * step.mean_weight);
  const auto decay = static_cast<float>(step.weight_decay);
  const auto epsilon = static_cast<float>(options_.epsilon);
  const auto rho = static_cast<float>(options_.rho);
  const auto fresh = static_cast<float>(1.0 - options_.rho);
  const std::span<float> square(square_);
  const std::span<float> steps(steps_);
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = mean[i] + decay * weights[i];
    square[i] = rho * square[i] + fresh * (gradient * gradient);
    const float unit = std::sqrt(steps[i] + epsilon) / std::sqrt(square[i] + epsilon);
    const float direction = unit * gradient;
    steps[i] = rho * steps[i] + fresh * (direction * direction);
    moved[i] = weights[i] - rate * direction;
  }
}

}  // namespace outpace::update

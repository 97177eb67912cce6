#include "update/rmsprop.h"

#include <cmath>

#include "base/check.h"

namespace outpace::update {

RmsProp::RmsProp(const RmsPropOptions& options, std::size_t size)
    : options_(options),
      size_(size),
      square_(size),
      mean_(options.centered ? size : 0),
      velocity_(options.mu > 0.0 ? size : 0) {
  CHECK(options.alpha >= 0.0 && options.alpha < 1.0);
  CHECK(options.epsilon > 0.0);
  CHECK(options.mu >= 0.0 && options.mu < 1.0);
}

std::vector<StatePart> RmsProp::state_parts() {
  std::vector<StatePart> parts{{.name = "square", .numbers = square_, .of_squares = true}};
  if (options_.centered) {
    parts.push_back({.name = "mean", .numbers = mean_, .of_squares = false});
  }
  if (options_.mu > 0.0) {
    parts.push_back({.name = "velocity", .numbers = velocity_, .of_squares = false});
  }
  return parts;
}

template <bool kCentered, bool kMomentum>
void RmsProp::move_as(const Step& step,
                      std::span<const float> mean,
                      const float* weights,
                      std::span<float> moved) {
  const auto rate = static_cast<float>(step.rate * step.mean_weight);
  const auto decay = static_cast<float>(step.weight_decay);
  const auto epsilon = static_cast<float>(options_.epsilon);
  const auto alpha = static_cast<float>(options_.alpha);
  const auto fresh = static_cast<float>(1.0 - options_.alpha);
  const auto mu = static_cast<float>(options_.mu);
  const std::span<float> square(square_);
  const std::span<float> first(mean_);
  const std::span<float> velocity(velocity_);
  for (std::size_t i = 0; i < size_; ++i) {
    const float gradient = mean[i] + decay * weights[i];
    if constexpr (kCentered) {
      const float off = gradient - first[i];
      square[i] = alpha * (square[i] + fresh * (off * off));
      first[i] = alpha * first[i] + fresh * gradient;
    } else {
      square[i] = alpha * square[i] + fresh * (gradient * gradient);
    }
    float direction = gradient / (std::sqrt(square[i]) + epsilon);
    if constexpr (kMomentum) {
      direction += mu * velocity[i];
      velocity[i] = direction;
    }
    moved[i] = weights[i] - rate * direction;
  }
}

void RmsProp::move(const Step& step,
                   std::span<const float> mean,
                   const float* weights,
                   std::span<float> moved) {
  CHECK(mean.size() == size_ && moved.size() == size_);
  const bool momentum = !velocity_.empty();
  if (options_.centered) {
    momentum ? move_as<true, true>(step, mean, weights, moved)
             : move_as<true, false>(step, mean, weights, moved);
  } else {
    momentum ? move_as<false, true>(step, mean, weights, moved)
             : move_as<false, false>(step, mean, weights, moved);
  }
}

}  // namespace outpace::update

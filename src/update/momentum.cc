#include "update/momentum.h"

#include "base/check.h"

namespace outpace::update {

Momentum::Momentum(Form form, double mu, std::size_t size)
    : form_(form), mu_(static_cast<float>(mu)), velocity_(size) {
  CHECK(mu >= 0.0 && mu < 1.0);
}

void Momentum::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  const std::size_t size = velocity_.size();
  CHECK(mean.size() == size && weights.size() == size);
  const auto rate = static_cast<float>(step.rate);
  const auto decay = static_cast<float>(step.weight_decay * step.mean_weight);
  const float mu = mu_;
  const std::span<float> velocity(velocity_);
  if (form_ == Form::kHeavyBall) {
    for (std::size_t i = 0; i < size; ++i) {
      velocity[i] = mu * velocity[i] + (mean[i] + decay * weights[i]);
      weights[i] -= rate * velocity[i];
    }
    return;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = mean[i] + decay * weights[i];
    velocity[i] = mu * velocity[i] + gradient;
    weights[i] -= rate * (gradient + mu * velocity[i]);
  }
}

}  // namespace outpace::update

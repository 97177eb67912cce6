#include "update/momentum.h"

#include <cmath>

#include "base/check.h"

namespace outpace::update {

Momentum::Momentum(Form form, double mu, std::size_t size, Over over)
    : form_(form), over_(over), exact_mu_(mu), mu_(static_cast<float>(mu)), velocity_(size) {
  CHECK(mu >= 0.0 && mu < 1.0);
}

template <typename Weight>
void Momentum::move_by_share(const Step& step,
                             std::span<const float> mean,
                             Weight weight,
                             std::span<float> moved) {
  const double kept = std::pow(exact_mu_, step.share);
  const auto fades = static_cast<float>(kept);
  const auto gain = static_cast<float>((1.0 - kept) / (1.0 - exact_mu_) / step.share);
  const auto length = static_cast<float>(step.rate * step.share);
  const auto ahead =
      static_cast<float>(step.rate * step.share * kept * (1.0 - exact_mu_) / (1.0 - kept));
  const auto decay = static_cast<float>(step.weight_decay * step.mean_weight);
  const std::span<float> velocity(velocity_);
  for (std::size_t i = 0; i < velocity.size(); ++i) {
    const float before = velocity[i];
    velocity[i] = fades * before + gain * (mean[i] + decay * weight(i));
    moved[i] = weight(i) - (length * velocity[i] + ahead * (velocity[i] - before));
  }
}

template <typename Weight>
void Momentum::move(const Step& step,
                    std::span<const float> mean,
                    Weight weight,
                    std::span<float> moved) {
  const std::size_t size = velocity_.size();
  CHECK(mean.size() == size && moved.size() == size);
  if (step.share < 1.0 && over_ == Over::kRound) {
    move_by_share(step, mean, weight, moved);
    return;
  }
  const auto rate = static_cast<float>(step.rate);
  const auto decay = static_cast<float>(step.weight_decay * step.mean_weight);
  const float mu = mu_;
  const std::span<float> velocity(velocity_);
  if (form_ == Form::kHeavyBall) {
    for (std::size_t i = 0; i < size; ++i) {
      velocity[i] = mu * velocity[i] + (mean[i] + decay * weight(i));
      moved[i] = weight(i) - rate * velocity[i];
    }
    return;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = mean[i] + decay * weight(i);
    velocity[i] = mu * velocity[i] + gradient;
    moved[i] = weight(i) - rate * (gradient + mu * velocity[i]);
  }
}

void Momentum::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  move(
      step, mean, [weights](std::size_t i) { return weights[i]; }, weights);
}

void Momentum::step_into(const Step& step,
                         std::span<const float> mean,
                         std::span<const float> weights,
                         std::span<float> moved) {
  CHECK(weights.size() == moved.size());
  move(
      step, mean, [weights](std::size_t i) { return weights[i]; }, moved);
}

}  // namespace outpace::update

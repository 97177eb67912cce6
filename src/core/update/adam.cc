#include "update/adam.h"

#include <cmath>

#include "base/check.h"

namespace outpace::update {
namespace {

// By multiplications alone, as beta1_power_ is.
double power_of(double base, std::uint64_t exponent) {
  double power = 1.0;
  for (; exponent > 0; exponent /= 2) {
    power *= exponent % 2 == 1 ? base : 1.0;
    base *= base;
  }
  return power;
}

}  // namespace

Adam::Adam(Decay decay, const AdamOptions& options, std::size_t size)
    : decay_(decay), options_(options), first_(size), second_(size) {
  CHECK(options.beta1 >= 0.0 && options.beta1 < 1.0);
  CHECK(options.beta2 >= 0.0 && options.beta2 < 1.0);
  CHECK(options.epsilon > 0.0);
}

void Adam::count_from(std::uint64_t updates) {
  beta1_power_ = power_of(options_.beta1, updates);
  beta2_power_ = power_of(options_.beta2, updates);
}

template <typename Weight>
void Adam::move(const Step& step,
                std::span<const float> mean,
                Weight weight,
                std::span<float> moved) {
  const std::size_t size = first_.size();
  CHECK(mean.size() == size && moved.size() == size);
  beta1_power_ *= options_.beta1;
  beta2_power_ *= options_.beta2;

  // What is equal for all weights is computed in double and rounded once.
  const double scaled_rate = step.rate * step.mean_weight;
  const bool decoupled = decay_ == Decay::kDecoupled;
  const auto in_gradient = static_cast<float>(decoupled ? 0.0 : step.weight_decay);
  const auto shrink = static_cast<float>(decoupled ? scaled_rate * step.weight_decay : 0.0);
  const auto rate = static_cast<float>(scaled_rate / (1.0 - beta1_power_));
  const auto correction = static_cast<float>(1.0 / std::sqrt(1.0 - beta2_power_));
  const auto epsilon = static_cast<float>(options_.epsilon);
  const auto beta1 = static_cast<float>(options_.beta1);
  const auto beta2 = static_cast<float>(options_.beta2);
  const auto fresh1 = static_cast<float>(1.0 - options_.beta1);
  const auto fresh2 = static_cast<float>(1.0 - options_.beta2);

  const std::span<float> first(first_);
  const std::span<float> second(second_);
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = mean[i] + in_gradient * weight(i);
    first[i] = beta1 * first[i] + fresh1 * gradient;
    second[i] = beta2 * second[i] + fresh2 * (gradient * gradient);
    const float length = std::sqrt(second[i]) * correction + epsilon;
    moved[i] = weight(i) - shrink * weight(i) - rate * (first[i] / length);
  }
}

void Adam::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  move(
      step, mean, [weights](std::size_t i) { return weights[i]; }, weights);
}

void Adam::step_into(const Step& step,
                     std::span<const float> mean,
                     std::span<const float> weights,
                     std::span<float> moved) {
  CHECK(weights.size() == moved.size());
  move(
      step, mean, [weights](std::size_t i) { return weights[i]; }, moved);
}

}  // namespace outpace::update

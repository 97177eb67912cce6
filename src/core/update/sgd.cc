#include "update/sgd.h"

#include "base/check.h"

namespace outpace::update {

template <typename Weight>
void Sgd::move(const Step& step,
               std::span<const float> mean,
               Weight weight,
               std::span<float> moved) {
  CHECK(mean.size() == size_ && moved.size() == size_);
  const auto rate = static_cast<float>(step.rate);
  const auto decay = static_cast<float>(step.weight_decay * step.mean_weight);
  for (std::size_t i = 0; i < size_; ++i) {
    moved[i] = weight(i) - rate * (mean[i] + decay * weight(i));
  }
}

void Sgd::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  move(
      step, mean, [weights](std::size_t i) { return weights[i]; }, weights);
}

void Sgd::step_into(const Step& step,
                    std::span<const float> mean,
                    std::span<const float> weights,
                    std::span<float> moved) {
  CHECK(weights.size() == moved.size());
  move(
      step, mean, [weights](std::size_t i) { return weights[i]; }, moved);
}

}  // namespace outpace::update

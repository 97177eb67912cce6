#include "update/sgd.h"

#include "base/check.h"

namespace outpace::update {

void Sgd::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  CHECK(mean.size() == size_ && weights.size() == size_);
  const auto rate = static_cast<float>(step.rate);
  const auto decay = static_cast<float>(step.weight_decay * step.mean_weight);
  for (std::size_t i = 0; i < size_; ++i) {
    weights[i] -= rate * (mean[i] + decay * weights[i]);
  }
}

}  // namespace outpace::update

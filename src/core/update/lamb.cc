#include "update/lamb.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "update/gradient.h"

namespace outpace::update {

Lamb::Lamb(const LambOptions& options, std::vector<std::size_t> tensors)
    : options_(options),
      tensors_(std::move(tensors)),
      first_(std::accumulate(tensors_.begin(), tensors_.end(), std::size_t{0})),
      second_(first_.size()) {
  CHECK(options.beta1 >= 0.0 && options.beta1 < 1.0);
  CHECK(options.beta2 >= 0.0 && options.beta2 < 1.0);
  CHECK(options.epsilon > 0.0);
}

void Lamb::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  CHECK(mean.size() == first_.size() && weights.size() == first_.size());
  beta1_power_ *= options_.beta1;
  beta2_power_ *= options_.beta2;
  const Common common{.unbias1 = static_cast<float>(1.0 / (1.0 - beta1_power_)),
                      .unbias2 = static_cast<float>(1.0 / std::sqrt(1.0 - beta2_power_)),
                      .decay = static_cast<float>(step.weight_decay),
                      .rate = step.rate * step.mean_weight};
  std::size_t begin = 0;
  for (const std::size_t size : tensors_) {
    step_tensor(common, begin, mean.subspan(begin, size), weights.subspan(begin, size));
    begin += size;
  }
}

void Lamb::step_tensor(const Common& common,
                       std::size_t begin,
                       std::span<const float> mean,
                       std::span<float> weights) {
  const std::size_t size = weights.size();
  direction_.resize(size);
  const std::span<float> first = std::span(first_).subspan(begin, size);
  const std::span<float> second = std::span(second_).subspan(begin, size);
  const std::span<float> direction(direction_);
  const auto epsilon = static_cast<float>(options_.epsilon);
  const auto beta1 = static_cast<float>(options_.beta1);
  const auto beta2 = static_cast<float>(options_.beta2);
  const auto fresh1 = static_cast<float>(1.0 - options_.beta1);
  const auto fresh2 = static_cast<float>(1.0 - options_.beta2);
  // Two loops, because the compiler does not vectorize one over all five arrays; block by block,
  // so that the second one finds its numbers in the cache.
  constexpr std::size_t kBlock = 1024;
  for (std::size_t at = 0; at < size; at += kBlock) {
    const std::size_t end = std::min(size, at + kBlock);
    for (std::size_t i = at; i < end; ++i) {
      first[i] = beta1 * first[i] + fresh1 * mean[i];
      second[i] = beta2 * second[i] + fresh2 * (mean[i] * mean[i]);
    }
    for (std::size_t i = at; i < end; ++i) {
      const float length = std::sqrt(second[i]) * common.unbias2 + epsilon;
      direction[i] = common.unbias1 * (first[i] / length) + common.decay * weights[i];
    }
  }
  const double weight_norm = std::sqrt(squared_norm(weights));
  const double step_norm = std::sqrt(squared_norm(direction));
  const double ratio = weight_norm > 0.0 && step_norm > 0.0 ? weight_norm / step_norm : 1.0;
  // Moments that have nearly vanished would make it infinite.
  const auto rate = static_cast<float>(std::min(common.rate * ratio, double{FLT_MAX}));
  for (std::size_t i = 0; i < size; ++i) {
    weights[i] -= rate * direction[i];
  }
}

}  // namespace outpace::update

#include "update/delayed_nesterov.h"

#include "base/check.h"
#include "base/error.h"

namespace outpace::update {
namespace {

// Ten shares of 0.1 add up to a little less than 1.
constexpr double kWholeRound = 1.0 - 1e-9;

}  // namespace

DelayedNesterov::DelayedNesterov(double mu, std::size_t size)
    : mu_(static_cast<float>(mu)), velocity_(size) {
  CHECK(mu >= 0.0 && mu < 1.0);
}

void DelayedNesterov::step(const Step& step,
                           std::span<const float> mean,
                           std::span<float> weights) {
  const std::size_t size = velocity_.size();
  CHECK(mean.size() == size && weights.size() == size);
  const auto rate = static_cast<float>(step.rate);
  const auto decay = static_cast<float>(step.weight_decay * step.mean_weight);
  const float mu = mu_;
  const bool alone = round_ == 0.0;  // Nothing is in D.
  round_ += step.share;
  if (round_ < kWholeRound) {
    since_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const float gradient = mean[i] + decay * weights[i];
      since_[i] = alone ? gradient : since_[i] + gradient;
      weights[i] -= rate * gradient;
    }
    return;
  }
  round_ = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = mean[i] + decay * weights[i];
    velocity_[i] = mu * velocity_[i] + (alone ? gradient : since_[i] + gradient);
    weights[i] -= rate * (gradient + mu * velocity_[i]);
  }
}

void DelayedNesterov::keep(Archive& archive) {
  archive("velocity", velocity_)("round", round_);
  const bool any = round_ > 0.0;
  if (archive.reads() || !any) {
    since_.clear();
  }
  archive("since", since_);
  const bool fits = any ? since_.size() == velocity_.size() : since_.empty();
  if (archive.reads() && !(fits && round_ >= 0.0 && round_ < 1.0)) {
    throw Error(ExitCode::kUnreadable, "state 'since' is not of a round that has begun");
  }
}

}  // namespace outpace::update

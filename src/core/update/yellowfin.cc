#include "update/yellowfin.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/check.h"
#include "update/gradient.h"

namespace outpace::update {
namespace {

constexpr double kSlowStartWindows = 10.0;

}  // namespace

YellowFin::YellowFin(const YellowFinOptions& options, std::size_t size)
    : options_(options), gradient_(size), mean_(size), move_(size) {
  CHECK(options.beta >= 0.0 && options.beta < 1.0 && options.window >= 1);
  CHECK(options.gamma >= 0.0);
  if (options.gamma > 0.0) {
    total_.emplace(options.tau, size);
  }
}

void YellowFin::step(const Step& step, std::span<const float> mean, std::span<float> weights) {
  const std::size_t size = move_.size();
  CHECK(mean.size() == size && weights.size() == size);
  const auto decay = static_cast<float>(step.weight_decay);
  for (std::size_t i = 0; i < size; ++i) {
    gradient_[i] = mean[i] + decay * weights[i];
  }
  if (const double squared = squared_norm(gradient_); squared > 0.0) {
    observe(squared);
    const Tuned tuned = single_step(landscape());
    alpha_ = tuned.alpha;
    target_ = tuned.mu;
  }
  if (!total_) {
    mu_ = target_;
  }
  const double slow_start =
      std::min(1.0, static_cast<double>(observed_) / (kSlowStartWindows * options_.window));
  const double alpha =
      std::min(step.rate * step.mean_weight * slow_start * alpha_, double{FLT_MAX});
  const auto rate = static_cast<float>(alpha);
  const auto mu = static_cast<float>(mu_);
  const std::span<float> move(move_);
  for (std::size_t i = 0; i < size; ++i) {
    move[i] = mu * move[i] - rate * gradient_[i];
    weights[i] += move[i];
  }
  if (total_) {
    if (const auto total = total_->measure(move_, alpha, gradient_)) {
      mu_ = std::clamp(mu_ + options_.gamma * (target_ - *total), -kBelowOne, kBelowOne);
    }
  }
}

void YellowFin::observe(double squared_norm) {
  const double beta = options_.beta;
  const auto keep = [beta](double& running, double value) {
    running = beta * running + (1.0 - beta) * value;
  };
  const double log_square = std::log(squared_norm);
  if (log_window_.size() < options_.window) {
    log_window_.push_back(log_square);
  } else {
    log_window_[observed_ % options_.window] = log_square;
  }
  const auto [least, greatest] = std::minmax_element(log_window_.begin(), log_window_.end());
  keep(mean_log_least_, *least);
  keep(mean_log_greatest_, *greatest);
  keep(mean_norm_, std::sqrt(squared_norm));
  keep(mean_square_, squared_norm);
  keep(mean_distance_, mean_norm_ / mean_square_);  // The biases of the two cancel.
  const auto kept = static_cast<float>(beta);
  const auto fresh = static_cast<float>(1.0 - beta);
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    mean_[i] = kept * mean_[i] + fresh * gradient_[i];
  }
  beta_power_ *= beta;
  ++observed_;
}

Landscape YellowFin::landscape() const {
  const double unbiased = 1.0 / (1.0 - beta_power_);
  const double h_min = std::exp(mean_log_least_ * unbiased);
  const double h_max = std::exp(mean_log_greatest_ * unbiased);
  return {.h_min = std::max(h_min, DBL_MIN),
          .h_max = std::max({h_min, h_max, DBL_MIN}),
          .variance = mean_square_ * unbiased - squared_norm(mean_) * unbiased * unbiased,
          .distance = mean_distance_ * unbiased};
}

void YellowFin::keep(Archive& archive) {
  archive("mean", mean_)("move", move_)("log_window", log_window_)("observed", observed_);
  archive("beta_power", beta_power_)("mean_norm", mean_norm_)("mean_square", mean_square_);
  archive("mean_distance", mean_distance_)("mean_log_least", mean_log_least_);
  archive("mean_log_greatest", mean_log_greatest_)("target", target_)("mu", mu_)("alpha", alpha_);
  if (total_) {
    archive("total", *total_);
  }
}

}  // namespace outpace::update

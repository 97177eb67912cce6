#include "policy/gradient_noise.h"

#include <algorithm>
#include <cmath>

namespace outpace::policy {
namespace {

// Gradients that are almost alike: a second one is worth nothing.
constexpr double kMostSaturation = 1e12;

}  // namespace

void GradientNoise::hear(double mean_norm, double single_norm, std::uint32_t gradients) {
  if (!std::isfinite(mean_norm) || !std::isfinite(single_norm) || gradients == 0) {
    return;
  }
  const double mean = mean_norm * mean_norm;
  // Rounded, it might be less than nothing.
  const double excess = std::max(single_norm * single_norm - mean, 0.0);
  deviations_ = kKeep * deviations_ + (gradients > 1 ? gradients * excess : 0.0);
  freedom_ = kKeep * freedom_ + (gradients - 1.0);
  squares_ = kKeep * squares_ + mean;
  inverse_counts_ = kKeep * inverse_counts_ + 1.0 / gradients;
  updates_ = kKeep * updates_ + 1.0;
}

void GradientNoise::hear(const Measured& measured, std::uint32_t gradients) {
  if (measured.what == Measure::kSingleGradientNorm) {
    single_norm_ = measured.value;
  } else if (measured.what == Measure::kGradientNorm) {
    hear(measured.value, single_norm_, gradients);
  }
}

double GradientNoise::squared_norm() const {
  return updates_ > 0.0 ? std::max((squares_ - variance() * inverse_counts_) / updates_, 0.0) : 0.0;
}

std::optional<double> GradientNoise::scale(double examples) const {
  const double squared = squared_norm();
  if (freedom_ <= 0.0 || squared <= 0.0) {
    return std::nullopt;
  }
  return variance() * examples / squared;
}

std::optional<runtime_model::Worth> GradientNoise::worth() const {
  if (freedom_ <= 0.0) {
    return std::nullopt;
  }
  if (variance() <= 0.0) {
    return runtime_model::Worth{.saturation = squared_norm() > 0.0 ? kMostSaturation : 0.0};
  }
  return runtime_model::Worth{.saturation = std::min(squared_norm() / variance(), kMostSaturation)};
}

}  // namespace outpace::policy

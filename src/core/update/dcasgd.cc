#include "update/dcasgd.h"

#include <cfloat>
#include <cmath>

#include "base/check.h"

namespace outpace::update {
namespace {

constexpr float kRootFloor = 1e-7F;

// The factors are in this order so that a gradient of the present weights (moved = 0) is unchanged
// even where g * g would overflow. A term beyond float32's range is not what Taylor's series means.
float compensated(float gradient, float lambda, float moved) {
  const float sum = gradient + gradient * (lambda * gradient * moved);
  return std::fabs(sum) <= FLT_MAX ? sum : gradient;
}

}  // namespace

DcAsgd::DcAsgd(const Options& options, std::size_t size) : options_(options), size_(size) {
  CHECK(options.lambda >= 0.0 && options.m >= 0.0 && options.m < 1.0);
}

void DcAsgd::correct(const Corrected& of,
                     std::span<float> gradient,
                     std::span<const float> weights) {
  const std::span<const float> then = released_.of(of.worker);
  CHECK(gradient.size() == size_ && weights.size() == size_ && then.size() == size_);
  const auto lambda = static_cast<float>(options_.lambda);
  if (options_.form == Form::kConstant) {
    for (std::size_t i = 0; i < size_; ++i) {
      gradient[i] = compensated(gradient[i], lambda, weights[i] - then[i]);
    }
    return;
  }
  const auto m = static_cast<float>(options_.m);
  const auto fresh = static_cast<float>(1.0 - options_.m);
  const std::span<float> squares(squares_of(of.worker));
  for (std::size_t i = 0; i < size_; ++i) {
    squares[i] = m * squares[i] + fresh * (gradient[i] * gradient[i]);
    const float scaled = lambda / std::sqrt(squares[i] + kRootFloor);
    gradient[i] = compensated(gradient[i], scaled, weights[i] - then[i]);
  }
}

std::vector<float>& DcAsgd::squares_of(WorkerId worker) {
  if (index(worker) >= squares_.size()) {
    squares_.resize(index(worker) + 1);
  }
  squares_[index(worker)].resize(size_);
  return squares_[index(worker)];
}

void DcAsgd::forget(WorkerId worker) {
  released_.forget(worker);
  if (index(worker) < squares_.size()) {
    squares_[index(worker)] = {};
  }
}

}  // namespace outpace::update

#include "sim/simple_distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "base/normal_distribution.h"
#include "sim/special_functions.h"

namespace outpace::sim {
namespace {

// The least normal runtime, as a fraction of the mean.
constexpr double kNormalFloor = 1e-3;

double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

}  // namespace

Normal::Normal(MeanAndCv shape)
    : mean_(shape.mean),
      deviation_(shape.cv * shape.mean),
      floor_(kNormalFloor * shape.mean),
      kept_(normal_cdf((mean_ - floor_) / deviation_)),
      hazard_(normal_density((floor_ - mean_) / deviation_) / kept_) {
  CHECK(shape.mean > 0 && shape.cv > 0);
}

double Normal::draw(const Draw& draw) const {
  // From the top, where the cut does not reach: the upper tail's probability, over (0, kept).
  return std::max(floor_, mean_ - deviation_ * normal_quantile(Uniforms(draw).next() * kept_));
}

double Normal::mean() const {
  return mean_ + deviation_ * hazard_;
}

double Normal::variance() const {
  const double cut = (floor_ - mean_) / deviation_;
  return deviation_ * deviation_ * (1.0 + cut * hazard_ - hazard_ * hazard_);
}

std::optional<double> Normal::cdf(double seconds) const {
  if (seconds < floor_) {
    return 0.0;
  }
  return std::max(0.0, 1.0 - normal_cdf((mean_ - seconds) / deviation_) / kept_);
}

Lognormal::Lognormal(MeanAndCv shape)
    : shape_(shape),
      sigma_(std::sqrt(std::log1p(shape.cv * shape.cv))),
      mu_(std::log(shape.mean) - 0.5 * sigma_ * sigma_) {
  CHECK(shape.mean > 0 && shape.cv > 0);
}

double Lognormal::draw(const Draw& draw) const {
  return std::exp(mu_ + sigma_ * Uniforms(draw).normal());
}

double Lognormal::variance() const {
  const double deviation = shape_.cv * shape_.mean;
  return deviation * deviation;
}

std::optional<double> Lognormal::cdf(double seconds) const {
  return seconds <= 0 ? 0.0 : normal_cdf((std::log(seconds) - mu_) / sigma_);
}

Exponential::Exponential(Options options)
    : shift_(options.shift), scale_(options.mean - options.shift) {
  CHECK(shift_ >= 0 && scale_ > 0);
}

double Exponential::draw(const Draw& draw) const {
  return shift_ - scale_ * std::log(Uniforms(draw).next());
}

std::optional<double> Exponential::cdf(double seconds) const {
  return seconds <= shift_ ? 0.0 : -std::expm1((shift_ - seconds) / scale_);
}

Gamma::Gamma(MeanAndCv shape)
    : shape_(1.0 / (shape.cv * shape.cv)),
      scale_(shape.mean * shape.cv * shape.cv),
      centre_((shape_ < 1.0 ? shape_ + 1.0 : shape_) - 1.0 / 3.0),
      width_(1.0 / std::sqrt(9.0 * centre_)) {
  CHECK(shape.mean > 0 && shape.cv > 0);
}

double Gamma::draw(const Draw& draw) const {
  Uniforms uniforms(draw);
  while (true) {
    const double normal = uniforms.normal();
    const double root = 1.0 + width_ * normal;
    if (root <= 0) {
      continue;
    }
    const double cube = root * root * root;
    const double uniform = uniforms.next();
    const double square = normal * normal;
    if (uniform < 1.0 - 0.0331 * square * square ||
        std::log(uniform) < 0.5 * square + centre_ * (1.0 - cube + std::log(cube))) {
      // A shape below 1 is drawn as shape + 1, times a power of another uniform (their section 6).
      const double boost = shape_ < 1.0 ? std::pow(uniforms.next(), 1.0 / shape_) : 1.0;
      return scale_ * centre_ * cube * boost;
    }
  }
}

std::optional<double> Gamma::cdf(double seconds) const {
  return gamma_cdf(shape_, seconds / scale_);
}

Pareto::Pareto(Options options)
    : shift_(options.shift),
      shape_(options.shape),
      scale_((options.mean - options.shift) * (options.shape - 1.0)) {
  CHECK(shift_ >= 0 && scale_ > 0 && shape_ > 1.0);
}

double Pareto::draw(const Draw& draw) const {
  return shift_ + scale_ * std::expm1(-std::log(Uniforms(draw).next()) / shape_);
}

double Pareto::variance() const {
  if (shape_ <= 2.0) {
    return std::numeric_limits<double>::infinity();
  }
  const double excess = scale_ / (shape_ - 1.0);
  return excess * excess * shape_ / (shape_ - 2.0);
}

std::optional<double> Pareto::cdf(double seconds) const {
  return seconds <= shift_ ? 0.0 : -std::expm1(-shape_ * std::log1p((seconds - shift_) / scale_));
}

}  // namespace outpace::sim

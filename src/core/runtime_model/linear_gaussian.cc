#include "runtime_model/linear_gaussian.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

// The hazard of the standard normal, density / survival, which is its mean beyond x. For large x it
// uses the asymptotic expansion, because both underflow to 0.
double hazard(double x) {
  constexpr double kFar = 12.0;
  if (x > kFar) {
    return x + 1.0 / x - 2.0 / (x * x * x);
  }
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return density / (0.5 * std::erfc(x / std::numbers::sqrt2));
}

constexpr double kLeastShare = 1e-6;  // Smallest share of a variance that remains.

}  // namespace

Normal truncated(const Normal& from, double least) {
  const double sigma = std::sqrt(from.variance);
  const double at = (least - from.mean) / sigma;
  const double beyond = hazard(at);
  const double share = std::clamp(1.0 + at * beyond - beyond * beyond, kLeastShare, 1.0);
  return {.mean = from.mean + sigma * beyond, .variance = from.variance * share};
}

LinearGaussian::LinearGaussian(std::span<const double> keep)
    : keep_(Eigen::Map<const Eigen::VectorXd>(keep.data(), static_cast<Eigen::Index>(keep.size()))),
      mean_(Eigen::VectorXd::Zero(keep_.size())),
      covariance_(Eigen::MatrixXd::Identity(keep_.size(), keep_.size())) {
  CHECK((keep_.array() >= 0.0).all() && (keep_.array() < 1.0).all());
}

void LinearGaussian::step() {
  mean_ = mean_.cwiseProduct(keep_);
  covariance_ = covariance_.cwiseProduct(keep_ * keep_.transpose());
  covariance_.diagonal().array() += 1.0 - keep_.array().square();
}

Normal LinearGaussian::forecast(const Worker& worker) const {
  return {.mean = worker.mean + worker.loading.dot(mean_),
          .variance = worker.variance + worker.loading.dot(covariance_ * worker.loading)};
}

void LinearGaussian::measure(const Worker& worker, double value, double noise) {
  const Eigen::VectorXd covariance = covariance_ * worker.loading;
  const double variance = worker.loading.dot(covariance) + worker.variance + noise;
  const double error = value - worker.mean - worker.loading.dot(mean_);
  mean_ += covariance * (error / variance);
  covariance_ -= covariance * covariance.transpose() / variance;
}

void LinearGaussian::see(const Worker& worker, double value) {
  measure(worker, value, 0.0);
}

Normal LinearGaussian::see_longer(const Worker& worker, double least) {
  const Normal before = forecast(worker);
  const Normal after = truncated(before, least);
  const double precision = 1.0 / after.variance - 1.0 / before.variance;
  if (precision > 0.0) {  // Otherwise nothing was uncertain, and the observation says nothing.
    // The measurement of y that turns one belief into the other.
    const double value = (after.mean / after.variance - before.mean / before.variance) / precision;
    measure(worker, value, 1.0 / precision);
  }
  return after;
}

}  // namespace outpace::runtime_model

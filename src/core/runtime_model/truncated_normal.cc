#include "runtime_model/truncated_normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace outpace::runtime_model

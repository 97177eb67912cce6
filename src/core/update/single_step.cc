#include "update/single_step.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::update {

double cubic_root(double p) {
  CHECK(p >= 0.0);
  if (!std::isfinite(p)) {
    return 0.0;
  }
  // Newton's method from 0 and not Cardano's formula, whose terms cancel for a large p. The
  // function is decreasing and convex up to its root, so every iterate is closer and none
  // overshoots.
  double x = 0.0;
  for (int i = 0; i < 200; ++i) {
    const double rest = 1.0 - x;
    const double further = x + (rest * rest * rest - p * x) / (3.0 * rest * rest + p);
    if (!(further > x) || further >= 1.0) {
      break;
    }
    x = further;
  }
  return x;
}

Tuned single_step(const Landscape& landscape) {
  const auto& [h_min, h_max, variance, distance] = landscape;
  CHECK(h_min > 0.0 && h_max >= h_min && distance >= 0.0);
  const double reach = distance * h_min;
  // Without noise, the nearest point is reached without momentum.
  const double unbounded = variance > 0.0 ? cubic_root(reach * reach / (2.0 * variance)) : 0.0;
  const double range = std::sqrt(h_max / h_min);
  const double root =
      std::max(unbounded, std::isfinite(range) ? (range - 1.0) / (range + 1.0) : 1.0);
  // Below 1 for any range; otherwise the weights would never move again.
  const double root_mu = std::min(root, 1.0 - 1e-6);
  return {.mu = root_mu * root_mu, .alpha = (1.0 - root_mu) * (1.0 - root_mu) / h_min};
}

}  // namespace outpace::update

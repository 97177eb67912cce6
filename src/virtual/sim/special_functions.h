// Special functions for the distributions of runtimes and their order statistics.
//
// The incomplete gamma and beta functions are Boost.Math's.

#pragma once

namespace outpace::sim {

// The regularised incomplete gamma function P(shape, x): the cdf of a gamma variable with scale 1.
// REQUIRES: shape > 0.
[[nodiscard]] double gamma_cdf(double shape, double x);

// The regularised incomplete beta function I_x(a, b). REQUIRES: a > 0, b > 0, 0 <= x <= 1.
struct BetaShape {
  double a;
  double b;
};
[[nodiscard]] double beta_cdf(BetaShape shape, double x);

}  // namespace outpace::sim

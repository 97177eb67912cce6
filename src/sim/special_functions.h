// Special functions for the distributions of runtimes and their order statistics.
//
// The incomplete gamma and beta functions are Boost.Math's. The normal distribution is our own,
// because each draw of a runtime goes through it. Boost's quantile differs from ours in the last
// digits, so every simulated run that was ever recorded would come out differently.

#pragma once

namespace outpace::sim {

// P(Z <= x) of a standard normal Z.
[[nodiscard]] double normal_cdf(double x);

// The x with normal_cdf(x) = p, to the last digits: Wichura, Algorithm AS 241: The Percentage
// Points of the Normal Distribution, Applied Statistics 37 (1988). REQUIRES: 0 < p < 1.
[[nodiscard]] double normal_quantile(double p);

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

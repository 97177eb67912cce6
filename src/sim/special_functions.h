// The functions that the distributions of runtimes and their order statistics are made of.
//
// Each is tested against an identity or another way to compute it. Deterministic as far as the C
// library's exp, log, erfc and lgamma are, which is all but the last digit.

#pragma once

namespace outpace::sim {

// P(Z <= x) of a standard normal Z.
[[nodiscard]] double normal_cdf(double x);

// The x with normal_cdf(x) = p, to the last digits: Wichura, Algorithm AS 241: The Percentage
// Points of the Normal Distribution, Applied Statistics 37 (1988). REQUIRES: 0 < p < 1.
[[nodiscard]] double normal_quantile(double p);

// The regularised incomplete gamma function P(shape, x): the cdf of a gamma variable with scale 1.
// Abramowitz & Stegun 6.5.29 (series) and 6.5.31 (continued fraction). REQUIRES: shape > 0.
[[nodiscard]] double gamma_cdf(double shape, double x);

// The regularised incomplete beta function I_x(a, b), to about 1e-15 (a + b) of it: the continued
// fraction 26.5.8 of Abramowitz & Stegun. REQUIRES: a > 0, b > 0, 0 <= x <= 1.
struct BetaShape {
  double a;
  double b;
};
[[nodiscard]] double beta_cdf(BetaShape shape, double x);

}  // namespace outpace::sim

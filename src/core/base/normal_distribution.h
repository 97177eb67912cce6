// The normal distribution.
//
// It is our own, because each draw of a simulated runtime goes through it. Boost's quantile differs
// from ours in the last digits, so every simulated run that was ever recorded would come out
// differently.

#pragma once

namespace outpace {

// P(Z <= x) of a standard normal Z.
[[nodiscard]] double normal_cdf(double x);

// The x with normal_cdf(x) = p, to the last digits: Wichura, Algorithm AS 241: The Percentage
// Points of the Normal Distribution, Applied Statistics 37 (1988). REQUIRES: 0 < p < 1.
[[nodiscard]] double normal_quantile(double p);

}  // namespace outpace

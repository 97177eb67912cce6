// How long the fastest k of n workers take, which is how long a cutoff of k waits.

#pragma once

#include <cstdint>
#include <functional>

namespace outpace::sim {

// The k-th smallest of n.
struct Order {
  std::uint32_t k;  // From 1 to n.
  std::uint32_t n;
};

// E[x_(k)], the expected k-th smallest of n independent runtimes with this cdf, in seconds:
//
//   E[x_(k)] = integral over t > 0 of P(fewer than k of n are done by t)
//            = integral over t > 0 of I_{1 - F(t)}(n - k + 1, k)
//
// David & Nagaraja, Order Statistics (2003), equations 2.1.3 to 2.1.5; k = n = 1 gives the mean.
// By adaptive Simpson steps over intervals that double, to about 1e-9 of it. Jumps of the cdf are
// no trouble. What a cdf cannot tell, it cannot see: a tail thinner than 1e-16, which is felt only
// in the slowest (k = n) of runtimes whose variance is infinite.
//
// REQUIRES: the cdf is that of a variable above 0 and never falls, and E[x_(k)] is finite.
[[nodiscard]] double expected_order_statistic(const std::function<double(double)>& cdf,
                                              Order order);

}  // namespace outpace::sim

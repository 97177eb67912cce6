// How long the fastest k of n workers take, which is how long a cutoff of k waits.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "base/check.h"
#include "sim/special_functions.h"

namespace outpace::sim {

// The k-th smallest of n.
struct Order {
  std::uint32_t k;  // From 1 to n.
  std::uint32_t n;
};

namespace order_statistics {

// For each interval: errors add up. It covers what beta_cdf rounds away, which no step mends.
inline constexpr double kRelativeError = 1e-12;
inline constexpr double kRoundingOfOne = 1e-14;
inline constexpr int kDepthMin = 3;  // Halvings before two estimates are believed.
inline constexpr int kHalvingsMax = 45;
// Intervals double from about the least runtime of interest to the greatest, in seconds.
inline constexpr double kRangeLeast = 0x1p-60;
inline constexpr double kRangeMost = 0x1p1000;

// P(fewer than k of n are done by t).
class Waiting {
 public:
  Waiting(const std::function<double(double)>& cdf, Order order) : cdf_(cdf), order_(order) {}

  [[nodiscard]] double at(double t) const {
    const double done = std::clamp(cdf_(t), 0.0, 1.0);
    return beta_cdf(
        {.a = static_cast<double>(order_.n - order_.k) + 1.0, .b = static_cast<double>(order_.k)},
        1.0 - done);
  }

 private:
  const std::function<double(double)>& cdf_;
  Order order_;
};

struct Interval {
  double begin;
  double end;
  double at_begin;  // The function's values.
  double at_middle;
  double at_end;

  [[nodiscard]] double simpson() const {
    return (end - begin) / 6.0 * (at_begin + 4.0 * at_middle + at_end);
  }
};

inline double integrate(const Waiting& waiting, const Interval& whole, double error, int depth) {
  const double middle = whole.begin + (whole.end - whole.begin) / 2;
  const Interval left{whole.begin,
                      middle,
                      whole.at_begin,
                      waiting.at(whole.begin + (middle - whole.begin) / 2),
                      whole.at_middle};
  const Interval right{middle,
                       whole.end,
                       whole.at_middle,
                       waiting.at(middle + (whole.end - middle) / 2),
                       whole.at_end};
  const double halves = left.simpson() + right.simpson();
  const double correction = (halves - whole.simpson()) / 15.0;
  // The function never rises, so that no rule is further off than this.
  const bool flat = (whole.end - whole.begin) * (whole.at_begin - whole.at_end) <= error;
  if (flat || depth == kHalvingsMax || (depth >= kDepthMin && std::fabs(correction) <= error)) {
    return halves + correction;
  }
  return integrate(waiting, left, error / 2, depth + 1) +
         integrate(waiting, right, error / 2, depth + 1);
}

}  // namespace order_statistics

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
inline double expected_order_statistic(const std::function<double(double)>& cdf, Order order) {
  CHECK(order.k >= 1 && order.k <= order.n);
  const order_statistics::Waiting waiting(cdf, order);
  double begin = 1.0;
  while (begin > order_statistics::kRangeLeast && waiting.at(begin) < 1.0) {
    begin /= 2;
  }
  while (begin < order_statistics::kRangeMost && waiting.at(2 * begin) == 1.0) {
    begin *= 2;
  }
  const double error =
      std::max(order_statistics::kRelativeError, order_statistics::kRoundingOfOne * order.n);
  double sum = begin;  // Nobody is done before.
  double at_begin = waiting.at(begin);
  for (; begin < order_statistics::kRangeMost && at_begin * begin > error * sum; begin *= 2) {
    const double at_end = waiting.at(2 * begin);
    const order_statistics::Interval interval{
        begin, 2 * begin, at_begin, waiting.at(1.5 * begin), at_end};
    sum += order_statistics::integrate(waiting, interval, error * sum, 0);
    at_begin = at_end;
  }
  CHECK(std::isfinite(sum));
  return sum;
}

}  // namespace outpace::sim

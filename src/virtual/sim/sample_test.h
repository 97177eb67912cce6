// Samples of a distribution, and how far they may be from its closed forms. The bounds follow from
// the sample's size. A correct distribution breaks a bound with probability below 1e-6. The seed is
// fixed, so a test that passes once always passes.

#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sim/distribution.h"

namespace outpace::sim {

inline constexpr double kDeviations = 5.0;  // P(|Z| > 5) = 6e-7.

// `count` runtimes, each of another worker and another iteration.
inline std::vector<double> sample(const Distribution& distribution,
                                  std::uint32_t count,
                                  std::uint64_t seed) {
  std::vector<double> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    values.push_back(distribution.draw({.seed = seed,
                                        .worker = WorkerId{i % 1000},
                                        .rank = i % 1000,
                                        .iteration = i / 1000,
                                        .start = Time{}}));
  }
  return values;
}

// The mean of any power of the distance from `centre`.
inline double moment(const std::vector<double>& values, double centre, int power) {
  double sum = 0.0;
  for (const double value : values) {
    sum += std::pow(value - centre, power);
  }
  return sum / static_cast<double>(values.size());
}

// The greatest distance between the sample's cdf and this one (Kolmogorov & Smirnov), at and just
// below every value, so that jumps count as they should.
inline double distance_of_cdf(std::vector<double> values,
                              const std::function<double(double)>& cdf) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double distance = 0.0;
  for (auto first = values.begin(); first != values.end();) {
    const auto last = std::upper_bound(first, values.end(), *first);
    const double below = cdf(std::nextafter(*first, -std::numeric_limits<double>::infinity()));
    distance =
        std::max({distance,
                  std::fabs(static_cast<double>(first - values.begin()) / count - below),
                  std::fabs(static_cast<double>(last - values.begin()) / count - cdf(*first))});
    first = last;
  }
  return distance;
}

// For independent values: P(distance > bound) <= 2 exp(-2 n bound^2) = 1e-6 (Massart, The Tight
// Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality, 1990).
inline double cdf_distance_bound(std::size_t count) {
  return std::sqrt(std::log(2e6) / (2.0 * static_cast<double>(count)));
}

}  // namespace outpace::sim

// Order statistics of a few numbers.

#pragma once

#include <vector>

namespace outpace::throughput {

inline constexpr double kNinety = 0.9;  // The share that errors and intervals are told by.

// The value below which this share of the numbers lies, with straight lines between the order
// statistics: Hyndman & Fan, "Sample quantiles in statistical packages" (1996), definition 7.
// REQUIRES: values is not empty, 0 <= share <= 1.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace outpace::throughput

// Quantiles by interpolation, for estimates. Reports to people use record/quantiles.h instead,
// whose quantile is always a value that occurred.

#pragma once

#include <vector>

namespace outpace::throughput {

inline constexpr double kNinety = 0.9;  // The share by which errors and intervals are reported.

// Returns the quantile by linear interpolation between the order statistics: Hyndman & Fan, "Sample
// quantiles in statistical packages" (1996), definition 7. REQUIRES: values is not empty, 0 <=
// share <= 1.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace outpace::throughput

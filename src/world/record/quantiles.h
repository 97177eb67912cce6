// Quantiles by nearest rank, for reports to people: always a value that occurred. Estimates use
// throughput/quantile.h instead, which interpolates.

#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace outpace::record {

// The smallest value that at least `share` of all values do not exceed; for 0.5, the lower median.
// Nothing without values. REQUIRES: 0 < share <= 1.
[[nodiscard]] std::optional<double> quantile(std::span<const float> values, double share);

// The same for a histogram, where counts[k] is how often k occurred.
[[nodiscard]] std::optional<std::uint64_t> quantile_of_counts(std::span<const std::uint64_t> counts,
                                                              double share);

// The mean of a histogram; nothing if it is empty.
[[nodiscard]] std::optional<double> mean_of_counts(std::span<const std::uint64_t> counts);

}  // namespace outpace::record

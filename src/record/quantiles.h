// Order statistics of what was measured, for people: nearest rank, so always a value that occurred.

#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace outpace::record {

// The least value that at least `share` of all are not greater than; the lower median for 0.5.
// Nothing if there are no values. REQUIRES: 0 < share <= 1.
[[nodiscard]] std::optional<double> quantile(std::span<const float> values, double share);

// The same of a histogram, where counts[k] is how often k occurred.
[[nodiscard]] std::optional<std::uint64_t> quantile_of_counts(std::span<const std::uint64_t> counts,
                                                              double share);

// The mean of a histogram; nothing if it is empty.
[[nodiscard]] std::optional<double> mean_of_counts(std::span<const std::uint64_t> counts);

}  // namespace outpace::record

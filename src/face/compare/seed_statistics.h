// Statistics over several runs of the same kind, and the fairness of work among workers.

#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace outpace::compare {

inline constexpr double kConfidence = 0.95;

// The mean of n values, and the confidence interval mean +- half_width: it contains the expected
// value with probability kConfidence, if the values are normal and independent.
struct Mean {
  std::size_t n = 0;
  double mean = 0.0;
  std::optional<double> half_width;  // Nothing for a single value.

  friend bool operator==(const Mean&, const Mean&) = default;
};

// Nothing without values. half_width = t(n - 1) s / sqrt(n), with s^2 the unbiased variance.
[[nodiscard]] std::optional<Mean> mean_of(std::span<const double> values);

// (sum of x)^2 / (n sum of x^2): 1 if all are equal, 1 / n if one has everything. Jain, Chiu &
// Hawe, A Quantitative Measure of Fairness and Discrimination (DEC-TR-301, 1984), equation 2.
// Nothing if there are no values, or all are 0. REQUIRES: none is negative.
[[nodiscard]] std::optional<double> jain_index(std::span<const double> values);

}  // namespace outpace::compare

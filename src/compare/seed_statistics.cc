#include "compare/seed_statistics.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "sim/special_functions.h"

namespace outpace::compare {

double student_t(std::size_t degrees, double confidence) {
  CHECK(degrees > 0 && confidence > 0.0 && confidence < 1.0);
  const auto nu = static_cast<double>(degrees);
  // P(|T| > t) = I_x(nu / 2, 1 / 2) with x = nu / (nu + t^2), which grows with x: halve until the
  // last digit. With z = log x, because x is tiny where t is large.
  double low = -700.0;
  double high = 0.0;
  while (true) {
    const double middle = std::midpoint(low, high);
    if (middle == low || middle == high) {
      break;
    }
    const double outside = sim::beta_cdf({.a = 0.5 * nu, .b = 0.5}, std::exp(middle));
    (outside < 1.0 - confidence ? low : high) = middle;
  }
  return std::sqrt(nu * std::expm1(-low));
}

std::optional<Mean> mean_of(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  Mean found{.n = values.size(), .mean = std::accumulate(values.begin(), values.end(), 0.0) / n};
  if (values.size() > 1) {
    double squares = 0.0;
    for (const double value : values) {
      squares += (value - found.mean) * (value - found.mean);
    }
    found.half_width =
        student_t(values.size() - 1, kConfidence) * std::sqrt(squares / (n - 1.0) / n);
  }
  return found;
}

std::optional<double> jain_index(std::span<const double> values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  if (!(squares > 0.0)) {
    return std::nullopt;
  }
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace outpace::compare

#include "compare/seed_statistics.h"

#include <cmath>
#include <numeric>

#include "base/student_t.h"

namespace outpace::compare {

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

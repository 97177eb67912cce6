#include "record/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace outpace::record {
namespace {

// The rank, from 1. The product may be slightly above a whole number: 0.07 x 100 is more than 7.
std::uint64_t rank(std::uint64_t values, double share) {
  CHECK(share > 0.0 && share <= 1.0);
  const double exact = share * static_cast<double>(values);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(exact - 1e-9)), 1, values);
}

}  // namespace

std::optional<double> quantile(std::span<const float> values, double share) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::vector<float> sorted(values.begin(), values.end());
  const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(rank(values.size(), share)) - 1;
  std::nth_element(sorted.begin(), place, sorted.end());
  return static_cast<double>(*place);
}

std::optional<std::uint64_t> quantile_of_counts(std::span<const std::uint64_t> counts,
                                                double share) {
  const std::uint64_t values = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (values == 0) {
    return std::nullopt;
  }
  const std::uint64_t wanted = rank(values, share);
  std::uint64_t seen = 0;
  std::size_t value = 0;
  while (seen + counts[value] < wanted) {
    seen += counts[value];
    ++value;
  }
  return value;
}

std::optional<double> mean_of_counts(std::span<const std::uint64_t> counts) {
  double values = 0.0;
  double sum = 0.0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    values += static_cast<double>(counts[value]);
    sum += static_cast<double>(value) * static_cast<double>(counts[value]);
  }
  return values > 0.0 ? std::optional(sum / values) : std::nullopt;
}

}  // namespace outpace::record

#include "throughput/quantile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace outpace::throughput {

double quantile(std::vector<double> values, double share) {
  CHECK(!values.empty() && share >= 0.0 && share <= 1.0);
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = place - std::floor(place);
  return values[below] + part * (values[above] - values[below]);
}

}  // namespace outpace::throughput

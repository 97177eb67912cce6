#include "throughput/saturation.h"

#include <algorithm>

namespace outpace::throughput {

std::optional<std::size_t> saturated_at(const std::vector<RateOf>& rates) {
  constexpr double kNearlyAll = 0.95;
  constexpr double kHalf = 0.5;
  double most = 0.0;
  for (const RateOf& one : rates) {
    most = std::max(most, one.rate);
  }
  for (std::size_t i = 0; i + 1 < rates.size(); ++i) {
    const double added = most / rates[i].rate - 1.0;
    const double workers = static_cast<double>(rates.back().workers) / rates[i].workers - 1.0;
    if (rates[i].rate >= kNearlyAll * most && added < kHalf * workers) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace outpace::throughput

#include "server/stall.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace outpace::server {
namespace {

// By the nearest rank; 0 of none.
double percentile_99(std::span<const float> values) {
  if (values.empty()) {
    return 0.0;
  }
  std::vector<float> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(sorted.size())));
  return sorted[rank - 1];
}

}  // namespace

std::optional<Duration> StallRule::limit(const Past& past) const {
  if (timeout_) {
    return timeout_;
  }
  if (past.ended < kWarmUp) {
    return std::nullopt;
  }
  const double usual = percentile_99(past.runtimes.last(std::min(past.runtimes.size(), kRecent)));
  const Duration once = std::max(kLeast, from_seconds(kTimes * usual));
  return once * (1U << std::min(past.stalls_in_a_row, kDoublings));
}

}  // namespace outpace::server

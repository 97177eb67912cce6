#include "server/stall.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace outpace::server {
namespace {

// In a process's first mini-batches, in which it loads and compiles.
constexpr Duration kFirstMost = std::chrono::minutes(10);

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
  const std::uint32_t times = 1U << std::min(past.stalls_in_a_row, kDoublings);
  if (past.ended < kWarmUp) {
    return kFirstMost * times;
  }
  const double usual = percentile_99(past.runtimes.last(std::min(past.runtimes.size(), kRecent)));
  const Duration once = std::max(kLeast, from_seconds(kTimes * usual));
  return once * times;
}

}  // namespace outpace::server

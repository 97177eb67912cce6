// Stragglers: workers whose median runtime is well above the median of all workers' medians.
//
// With medians, a single long pause does not make a worker a straggler, and one very slow worker
// does not hide another.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/ids.h"
#include "server/statistics.h"

namespace outpace::record {

inline constexpr double kSlowFactor = 1.5;
inline constexpr std::size_t kRecentRuntimes = 20;

struct Straggler {
  WorkerId worker;
  double factor;  // Times slower than the median worker.
};

// Among the live workers, by their last 20 runtimes; the slowest first.
[[nodiscard]] std::vector<Straggler> stragglers_now(const server::Statistics& statistics);
// Among all workers, by all their runtimes; the slowest first.
[[nodiscard]] std::vector<Straggler> stragglers_overall(const server::Statistics& statistics);

// "worker 7 (4.1x)".
[[nodiscard]] std::string to_words(const Straggler& straggler);

}  // namespace outpace::record

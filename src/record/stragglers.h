// Who is slow: a worker whose median runtime is well above the median of all workers' medians.
//
// Medians, so that neither one long pause names a worker nor one very slow worker hides another.

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

// Of the live workers, by their last 20 runtimes; the slowest first.
[[nodiscard]] std::vector<Straggler> stragglers_now(const server::Statistics& statistics);
// Of all workers, by all their runtimes; the slowest first.
[[nodiscard]] std::vector<Straggler> stragglers_overall(const server::Statistics& statistics);

// "worker 7 (4.1x)".
[[nodiscard]] std::string to_words(const Straggler& straggler);

}  // namespace outpace::record

// Processors that workers of one machine share, and when each worker computes on them.

#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"

namespace outpace::sim {

// Each computation takes one processor, to its end. Computations are placed in the order of the
// calls of finish(), each at the earliest time with a free processor. A later call may still get an
// earlier time, for a worker that slept less.
class Cores {
 public:
  // With 0 `cores` there is always a free processor.
  explicit Cores(std::uint32_t cores) : cores_(cores) {}

  // When a computation that can begin at `ready` and takes `length` is done. REQUIRES: now <=
  // ready, length >= 0, and `now` never decreases from call to call.
  [[nodiscard]] Time finish(Time now, Time ready, Duration length);
  // Gives up the computation of this length that was to be done at `end`. REQUIRES: end > now.
  void give_up(Time now, Time end, Duration length);

 private:
  // How many more processors are in use from each time on.
  std::map<Time, std::int64_t> changes_;
  std::int64_t before_ = 0;  // In use before the first of them.
  const std::uint32_t cores_;
};

}  // namespace outpace::sim

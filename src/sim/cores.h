// Processors that workers of one machine share, and when each worker computes on them.

#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"

namespace outpace::sim {

// Computations take a processor each, to their end, in the order in which they are asked for and
// where there is room: one that is asked for later may still begin earlier, as those do that slept
// less.
class Cores {
 public:
  // `cores` of 0: as many as anybody wants.
  explicit Cores(std::uint32_t cores) : cores_(cores) {}

  // When a computation that can begin at `ready` and takes `length` is done. Nobody asks later for
  // a time before `now`, which never decreases. REQUIRES: now <= ready, length >= 0.
  [[nodiscard]] Time finish(Time now, Time ready, Duration length);
  // The computation of this length that was to be done at `end` is given up. REQUIRES: end > now.
  void give_up(Time now, Time end, Duration length);

 private:
  // How many more processors are in use from each time on.
  std::map<Time, std::int64_t> changes_;
  std::int64_t before_ = 0;  // In use before the first of them.
  const std::uint32_t cores_;
};

}  // namespace outpace::sim

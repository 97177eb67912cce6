// A random value that lasts, such as a machine's speed or a slow period. It is drawn anew at random
// moments without memory: with the same probability in each instant, or in each iteration.
//
// The value has the autocorrelation of a first-order autoregression, exp(-lag / mean) or
// (1 - 1 / mean)^lag, for any distribution. The moment of the last redraw follows from the seed
// alone. The axis is cut into blocks of about one redraw each, and each block has random numbers of
// its own. So a caller can ask for any moment, in any order, at the same cost.

#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/draw.h"

namespace outpace::sim {

enum class Axis : std::uint8_t {
  kTime,       // The run's clock, which goes on while workers wait.
  kIteration,  // Each worker's own count.
};

// How long something lasts on average.
struct Dwell {
  Axis axis;
  double mean;  // Seconds, at least 1 ns; or iterations, at least 1.
};

class Redraws {
 public:
  explicit Redraws(Dwell dwell);

  // A key for what was drawn at the last redraw up to the draw's start or iteration: the same
  // until the next one. `process` is the key of what is drawn: of a machine, of a worker.
  [[nodiscard]] std::uint64_t last(std::uint64_t process, const Draw& draw) const;

 private:
  [[nodiscard]] double gap(Uniforms& uniforms) const;

  const Axis axis_;
  const std::int64_t block_;  // Nanoseconds or iterations.
  const double log_stay_;     // ln(1 - 1 / mean), by iteration.
};

}  // namespace outpace::sim

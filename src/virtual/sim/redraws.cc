#include "sim/redraws.h"

#include <cmath>

#include "base/check.h"

namespace outpace::sim {

Redraws::Redraws(Dwell dwell)
    : axis_(dwell.axis),
      block_(axis_ == Axis::kTime ? from_seconds(dwell.mean).count()
                                  : static_cast<std::int64_t>(std::ceil(dwell.mean))),
      log_stay_(std::log1p(-1.0 / dwell.mean)) {
  CHECK(block_ >= 1 && (axis_ == Axis::kTime || dwell.mean >= 1.0));
}

// Blocks, or whole iterations, to the next redraw.
double Redraws::gap(Uniforms& uniforms) const {
  const double log_uniform = std::log(uniforms.next());
  return axis_ == Axis::kTime ? -log_uniform : 1.0 + std::floor(log_uniform / log_stay_);
}

std::uint64_t Redraws::last(std::uint64_t process, const Draw& draw) const {
  const std::int64_t place = axis_ == Axis::kTime ? draw.start.time_since_epoch().count()
                                                  : static_cast<std::int64_t>(draw.iteration);
  CHECK(place >= 0);
  std::int64_t block = place / block_;
  // The last place that counts, from the block's begin: in blocks, or in iterations.
  double last = axis_ == Axis::kTime
                    ? static_cast<double>(place % block_) / static_cast<double>(block_)
                    : static_cast<double>(place % block_);
  while (true) {
    const std::uint64_t block_key = key(process, static_cast<std::uint64_t>(block));
    Uniforms uniforms(block_key);
    std::uint64_t redraws = 0;
    // By iteration the first of the block may be a redraw: begin one before it.
    double next = (axis_ == Axis::kTime ? 0.0 : -1.0) + gap(uniforms);
    while (next <= last) {
      ++redraws;
      next += gap(uniforms);
    }
    if (redraws > 0) {
      return key(~block_key, redraws);
    }
    --block;  // Also before the run began: nothing is special about its first moment.
    last = axis_ == Axis::kTime ? 1.0 : static_cast<double>(block_ - 1);
  }
}

}  // namespace outpace::sim

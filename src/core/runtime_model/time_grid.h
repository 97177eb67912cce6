// Runtimes on a logarithmic scale: the edges of the bins are a constant factor apart.
//
// Slowness multiplies. On a scale of log seconds a slow period therefore shifts a distribution
// without changing its shape.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/archive.h"
#include "base/check.h"

namespace outpace::runtime_model {

class TimeGrid {
 public:
  TimeGrid() = default;
  // `low` is the first edge, in seconds; each edge is exp(step) times the one before.
  TimeGrid(double low, double step, std::uint32_t bins)
      : log_low_(std::log(low)), step_(step), bins_(bins) {
    CHECK(low > 0.0 && std::isfinite(low) && step > 0.0 && bins >= 1);
  }

  [[nodiscard]] std::uint32_t bins() const { return bins_; }
  [[nodiscard]] double step() const { return step_; }  // In log seconds.
  // Edge i in seconds, i = 0..bins.
  [[nodiscard]] double edge(double i) const { return std::exp(log_low_ + i * step_); }
  // The position of a time on the scale of edges, clamped to [0, bins].
  [[nodiscard]] double position(double seconds) const {
    if (seconds <= 0.0) {
      return 0.0;
    }
    return std::clamp((std::log(seconds) - log_low_) / step_, 0.0, static_cast<double>(bins_));
  }
  [[nodiscard]] std::uint32_t bin(double seconds) const {
    return std::min(static_cast<std::uint32_t>(position(seconds)), bins_ - 1);
  }
  // The grid whose first edge is this one's edge `bins`.
  [[nodiscard]] TimeGrid moved(int bins) const {
    TimeGrid other = *this;
    other.log_low_ += bins * step_;
    return other;
  }
  [[nodiscard]] bool holds(double seconds) const {
    return seconds >= edge(0) && seconds <= edge(bins_);
  }

  bool operator==(const TimeGrid&) const = default;

  void keep(Archive& archive) { archive("log_low", log_low_)("step", step_)("bins", bins_); }

 private:
  double log_low_ = 0.0;
  double step_ = 1.0;
  std::uint32_t bins_ = 1;
};

}  // namespace outpace::runtime_model

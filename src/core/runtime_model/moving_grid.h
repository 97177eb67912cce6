// The grid of a model's forecasts, which follows the runtimes for ever.
//
// It begins around the first iteration: from 1/30 of its median to 300 times it. Once the recent
// median is less than three times its first edge or more than a tenth of its last one, it begins
// anew around that median. It moves by whole bins, and their number and step stay, so that what a
// model keeps by bin moves by as many places.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/archive.h"
#include "runtime_model/runtime_model.h"
#include "runtime_model/time_grid.h"

namespace outpace::runtime_model {

// The median of the medians of the last iterations. A single iteration that is unlike the others
// does not change it.
class RecentMedian {
 public:
  explicit RecentMedian(std::size_t iterations) : most_(iterations) {}

  // With this iteration. REQUIRES: at least one worker was observed.
  double take(std::span<const Observation> iteration);
  void keep(Archive& archive) { archive("medians", medians_); }

 private:
  const std::size_t most_;       // Constant after construction.
  std::vector<double> medians_;  // In seconds, the newest last; at most `most_`.
};

class MovingGrid {
 public:
  static constexpr int kUnit = 3;  // It moves by a multiple of this, in bins.

  // Takes an iteration in. Returns by how many bins the grid has moved up: what was in bin i is now
  // in bin i - moved. REQUIRES: at least one worker was observed.
  int follow(std::span<const Observation> iteration);
  // REQUIRES: after follow().
  [[nodiscard]] const TimeGrid& now() const { return grid_; }
  void keep(Archive& archive) { archive("grid", grid_)("recent", recent_)("begun", begun_); }

 private:
  static constexpr std::size_t kRecent = 5;  // Iterations.

  TimeGrid grid_;
  RecentMedian recent_{kRecent};
  bool begun_ = false;
};

}  // namespace outpace::runtime_model

#include "runtime_model/moving_grid.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/median.h"

namespace outpace::runtime_model {
namespace {

// The recent median is within the grid's middle: this many times its first edge at least,
constexpr double kAboveFirst = 3.0;
// and its last edge at least this many times the median.
constexpr double kBelowLast = 10.0;

}  // namespace

double RecentMedian::take(std::span<const Observation> iteration) {
  if (medians_.size() == most_) {
    medians_.erase(medians_.begin());
  }
  medians_.push_back(median_seconds(iteration));
  std::vector<double> sorted = medians_;
  return upper_median(sorted);
}

int MovingGrid::follow(std::span<const Observation> iteration) {
  const double median = recent_.take(iteration);
  if (!std::exchange(begun_, true)) {
    grid_ = grid_around(median);
    return 0;
  }
  if (median >= kAboveFirst * grid_.edge(0.0) && median * kBelowLast <= grid_.edge(grid_.bins())) {
    return 0;
  }
  const double bins = std::log(grid_around(median).edge(0.0) / grid_.edge(0.0)) / grid_.step();
  const int moved = kUnit * static_cast<int>(std::lround(bins / kUnit));
  grid_ = grid_.moved(moved);
  return moved;
}

}  // namespace outpace::runtime_model

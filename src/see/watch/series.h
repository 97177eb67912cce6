// Points in time of a whole run, in bounded memory: when it is full, every second point goes, and
// from then on points come half as often.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace outpace::watch {

template <typename Point>
class Series {
 public:
  // `most`: points kept; even. `period`: seconds between them, at first.
  Series(std::size_t most, double period) : most_(most), period_(period) {}

  // Whether a point of this time is wanted. A series with period 0 wants all.
  [[nodiscard]] bool due(double seconds) const { return points_.empty() || seconds >= next_; }
  void add(double seconds, Point point) {
    if (points_.size() >= most_) {
      thin();
    }
    next_ = seconds + period_;
    points_.push_back(std::move(point));
  }

  // Goes on from these, which are this long apart. REQUIRES: nothing was added.
  void go_on(std::vector<Point> points, double apart, double newest) {
    points_ = std::move(points);
    while (period_ > 0.0 && 1.5 * period_ < apart) {
      period_ *= 2.0;
    }
    next_ = newest + period_;
  }

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  // How often it was thinned out: what was read of it before is out of date when this grows.
  [[nodiscard]] std::uint64_t thinned() const { return thinned_; }

 private:
  void thin() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < points_.size(); i += 2) {  // The newest stays.
      points_[kept++] = std::move(points_[i]);
    }
    points_.resize(kept);
    period_ *= 2.0;
    ++thinned_;
  }

  const std::size_t most_;
  double period_;
  double next_ = 0.0;
  std::uint64_t thinned_ = 0;
  std::vector<Point> points_;
};

}  // namespace outpace::watch

// Sets of time, for asking what is busy when.

#pragma once

#include <vector>

namespace outpace::throughput {

struct Interval {
  double begin;
  double end;

  bool operator==(const Interval&) const = default;
};

// In order, disjoint, none empty. All functions return such a set, and all but united() take one.
using Intervals = std::vector<Interval>;

// The union of intervals in any order.
[[nodiscard]] Intervals united(std::vector<Interval> intervals);
[[nodiscard]] Intervals without(const Intervals& all, const Intervals& less);
// How much of `all` lies in `window`.
[[nodiscard]] double length_within(const Intervals& all, const Interval& window);

}  // namespace outpace::throughput

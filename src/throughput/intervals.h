// Sets of time: what is busy when, together and without each other.

#pragma once

#include <vector>

namespace outpace::throughput {

struct Interval {
  double begin;
  double end;

  bool operator==(const Interval&) const = default;
};

// In order, without overlap, none empty: what all functions here give, and all but united() take.
using Intervals = std::vector<Interval>;

// All that is in any of them, in whatever order they are.
[[nodiscard]] Intervals united(std::vector<Interval> intervals);
[[nodiscard]] Intervals without(const Intervals& all, const Intervals& less);
// How much of `all` lies in `window`.
[[nodiscard]] double length_within(const Intervals& all, const Interval& window);

}  // namespace outpace::throughput

// The ticks of an axis: round numbers, not too many.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace outpace::plot {

struct Range {
  double low;
  double high;

  friend bool operator==(const Range&, const Range&) = default;
};

struct Axis {
  Range range;                // Of the data, widened to whole ticks.
  std::vector<double> ticks;  // From range.low to range.high, 1, 2 or 5 times a power of ten apart.

  friend bool operator==(const Axis&, const Axis&) = default;
};

// At most `ticks_most` steps between ticks. A range of no width is widened.
// REQUIRES: finite, low <= high, ticks_most > 0.
[[nodiscard]] Axis axis_of(Range data, std::size_t ticks_most);

// With as many decimals as ticks a step apart need: "0.5", "1,000".
[[nodiscard]] std::string tick_text(double tick, double step);

}  // namespace outpace::plot

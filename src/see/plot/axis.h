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
  Range range;                // The data's, widened to whole ticks.
  std::vector<double> ticks;  // From low to high; unless said otherwise, 1, 2 or 5 times a power
                              // of ten apart.
  bool logarithmic = false;
  std::vector<std::string> words = {};  // One for each tick; empty: the ticks' numbers.

  friend bool operator==(const Axis&, const Axis&) = default;
};

// The axis has at most `ticks_most` steps between ticks. A range of no width is widened.
// REQUIRES: finite, low <= high, ticks_most > 0.
[[nodiscard]] Axis axis_of(Range data, std::size_t ticks_most);

// A logarithmic axis from low to high, with ticks at 1, 2 and 5 times powers of ten. If these are
// more than `ticks_most`, only powers of ten have a tick. REQUIRES: 0 < low < high.
[[nodiscard]] Axis logarithmic_axis_of(Range range, std::size_t ticks_most);

// With as many decimals as ticks a step apart need: "0.5", "1,000".
[[nodiscard]] std::string tick_text(double tick, double step);
// The words of the i-th tick.
[[nodiscard]] std::string tick_words(const Axis& axis, std::size_t i);

// How far up the axis a value stands: 0 at low, 1 at high.
[[nodiscard]] double share_of(double value, const Axis& axis);

}  // namespace outpace::plot

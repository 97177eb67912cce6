// A bar chart, lying: a bar a row, with an interval if there is one; as text and as a picture.

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace outpace::plot {

struct Interval {
  double low;
  double high;
};

struct Bar {
  std::string name;
  double value;       // At least 0, and finite.
  std::string words;  // Behind the bar.
  std::optional<Interval> interval = std::nullopt;
  bool emphasised = false;  // What the others are compared with.
};

// A line a bar, with names to the left and the longest bar of `width` characters, rounded to
// eighths of one; nothing for no bars.
[[nodiscard]] std::string bar_lines(const std::vector<Bar>& bars, std::size_t width);

struct BarChart {
  std::string title;
  std::string unit;       // The level axis's.
  std::vector<Bar> bars;  // At least one.
  std::vector<std::string> notes;
};
// An SVG document.
[[nodiscard]] std::string bar_plot_of(const BarChart& chart);

}  // namespace outpace::plot

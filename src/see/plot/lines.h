// A line chart: what came of a number of something, for several kinds, each with an interval; as a
// picture.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plot/bars.h"
#include "plot/svg.h"

namespace outpace::plot {

struct LinePoint {
  double x;  // At least 0, as is y; finite.
  double y;
  std::optional<Interval> interval = std::nullopt;
};

// A point of a line that is pointed at.
struct LineMark {
  std::size_t point;
  std::string words;
};

struct ChartLine {
  std::string name;
  std::size_t kind;  // Lines of one kind have one colour, and one place in the legend.
  bool dashed = false;
  std::vector<LinePoint> points;  // At least one, x never less than before.
  std::optional<LineMark> mark = std::nullopt;
};

struct LineChart {
  std::string title;
  std::string level;             // What the level axis has.
  std::string upright;           // What the other has.
  std::vector<ChartLine> lines;  // At least one.
  std::vector<Point> ideal;      // A thin line that ends where the picture does; or nothing.
  std::string ideal_name;
  std::vector<std::string> notes;
};
// An SVG document. Both axes begin at 0; the upright one has room for the lines, not for the ideal.
[[nodiscard]] std::string line_plot_of(const LineChart& chart);

}  // namespace outpace::plot

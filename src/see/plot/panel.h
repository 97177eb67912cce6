// A panel of a picture: two axes with their ticks, the curves between them, and a legend below.
// Three pictures are made of it: accuracy against time (compare/plot.h), throughput against workers
// (lines.h), and the decisions of a cutoff (cutoff_plot.h).

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plot/axis.h"
#include "plot/svg.h"

namespace outpace::plot {

// In pixels. Titles, ticks and units stand around the area of the curves.
inline constexpr double kPlotHeight = 280.0;
inline constexpr double kPanelLeft = 74.0;
inline constexpr double kPanelRight = 22.0;
inline constexpr double kPanelTop = 34.0;
inline constexpr double kPanelFoot = 54.0;
inline constexpr double kTicksFoot = 24.0;  // The foot of a panel whose level axis has no words.
inline constexpr double kPanelHeight = kPanelTop + kPlotHeight + kPanelFoot;
inline constexpr double kPageMargin = 10.0;
inline constexpr double kLonePlotWidth = 640.0;
inline constexpr double kLegendRow = 20.0;
inline constexpr double kLegendGap = 8.0;  // Above it.

// Each of seven kinds has a colour; further kinds have the same colours with dashes.
[[nodiscard]] Stroke stroke_of(std::size_t kind);
// The dashes of the first kind are none: a solid line.
[[nodiscard]] std::string_view dashes_of(std::size_t kind);

struct PanelPlace {
  Point corner;  // The upper left one of the panel.
  double width;  // The width of the curves' area.
  double height = kPlotHeight;
};

// Words that are empty are not drawn.
struct PanelWords {
  std::string title;
  std::string level;    // The level axis's.
  std::string upright;  // The other's.
};

class Panel {
 public:
  Panel(Svg& svg, const PanelPlace& place, Axis level, Axis upright);

  void axes(const PanelWords& words);
  void band(const std::vector<Point>& low, const std::vector<Point>& high, std::string_view colour);
  // Points, and `where` below, are in the axes' units. A point beyond the axes is drawn outside of
  // the panel; between begin_clip() and end_clip() it is not drawn.
  void line(const std::vector<Point>& points, const Stroke& stroke);
  void dot(Point where, double radius, std::string_view colour);
  // Writes the words in the middle.
  void say(std::string_view words);
  void begin_clip();
  void end_clip();

  // The pixel of a point in the axes' units.
  [[nodiscard]] Point at(Point where) const;
  [[nodiscard]] Point nearest(Point where) const;  // Moves a point outside to the edge.
  [[nodiscard]] double left() const { return origin_.x; }
  [[nodiscard]] double right() const { return origin_.x + width_; }

 private:
  Svg& svg_;
  const Point origin_;  // The upper left corner of where the curves are.
  const double width_;
  const double height_;
  const Axis level_;
  const Axis upright_;
};

// From 0 to `last`, with no empty end: the axis of what begins at nothing.
[[nodiscard]] Axis axis_from_zero(double last);

struct LegendEntry {
  std::string name;
  Stroke stroke;
  Point at{};
};
// Places the entries from left to right, as many in a row as fit; the corner of the first is 0, 0.
// How high they are.
double lay_out(std::vector<LegendEntry>& entries, double width);
void draw_legend(Svg& svg, Point corner, const std::vector<LegendEntry>& entries);

}  // namespace outpace::plot

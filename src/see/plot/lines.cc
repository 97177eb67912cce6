#include "plot/lines.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "base/check.h"
#include "plot/panel.h"

namespace outpace::plot {
namespace {

constexpr std::string_view kCoarseDashes = "6 4";
constexpr std::string_view kIdealColour = "#777777";
constexpr std::size_t kDotsMost = 24;  // Points of a line that are drawn one by one, too.
constexpr double kNoteRow = 18.0;

Point most_of(const std::vector<ChartLine>& lines) {
  Point most{0.0, 0.0};
  for (const ChartLine& line : lines) {
    CHECK(!line.points.empty());
    for (const LinePoint& point : line.points) {
      CHECK(std::isfinite(point.x) && std::isfinite(point.y));
      most.x = std::max(most.x, point.x);
      most.y = std::max({most.y, point.y, point.interval ? point.interval->high : 0.0});
    }
  }
  return most;
}

Stroke stroke_of_line(const ChartLine& line) {
  Stroke stroke = stroke_of(line.kind);
  if (line.dashed) {
    stroke.dashes = kCoarseDashes;
    stroke.width = 1.6;
  }
  return stroke;
}

// Up to where it leaves the picture.
std::vector<Point> below(const std::vector<Point>& points, double high) {
  std::vector<Point> inside;
  inside.reserve(points.size());
  for (const Point& point : points) {
    if (point.y > high) {
      if (!inside.empty()) {
        const Point& last = inside.back();
        const double part = (high - last.y) / (point.y - last.y);
        inside.push_back({last.x + part * (point.x - last.x), high});
      }
      break;
    }
    inside.push_back(point);
  }
  return inside;
}

void draw_band(Panel& panel, const ChartLine& line) {
  std::vector<Point> low;
  std::vector<Point> high;
  low.reserve(line.points.size());
  high.reserve(line.points.size());
  for (const LinePoint& point : line.points) {
    if (point.interval) {
      low.push_back({point.x, point.interval->low});
      high.push_back({point.x, point.interval->high});
    }
  }
  if (low.size() > 1) {
    panel.band(low, high, stroke_of(line.kind).colour);
  }
}

void draw_line(Panel& panel, const ChartLine& line) {
  const Stroke stroke = stroke_of_line(line);
  std::vector<Point> points;
  points.reserve(line.points.size());
  for (const LinePoint& point : line.points) {
    points.push_back({point.x, point.y});
  }
  panel.line(points, stroke);
  if (points.size() <= kDotsMost && !line.dashed) {
    for (const Point& point : points) {
      panel.dot(point, 2.2, stroke.colour);
    }
  }
}

void draw_mark(Svg& svg, Panel& panel, const ChartLine& line) {
  const LinePoint& point = line.points.at(line.mark->point);
  const std::string_view colour = stroke_of(line.kind).colour;
  panel.dot({point.x, point.y}, 5.5, colour);
  panel.dot({point.x, point.y}, 3.0, "#ffffff");
  const Point at = panel.at({point.x, point.y});
  svg.text({at.x, at.y - 10},
           line.mark->words,
           {.size = 11, .colour = colour, .anchor = "middle", .bold = true});
}

std::vector<LegendEntry> legend_of_lines(const LineChart& chart, const Stroke& ideal) {
  std::vector<LegendEntry> entries;
  std::set<std::size_t> named;
  for (const ChartLine& line : chart.lines) {
    if (named.insert(line.kind).second) {
      entries.push_back({line.name, stroke_of(line.kind)});
    }
  }
  if (!chart.ideal.empty()) {
    entries.push_back({chart.ideal_name, ideal});
  }
  return entries;
}

}  // namespace

std::string line_plot_of(const LineChart& chart) {
  CHECK(!chart.lines.empty());
  constexpr double kRoom = 1.08;  // Above the highest, for what a mark says.
  const Point most = most_of(chart.lines);
  const Axis upright = axis_from_zero(kRoom * most.y);
  const Stroke ideal{.colour = kIdealColour, .width = 1.0};
  const double width = 2 * kPageMargin + kPanelLeft + kLonePlotWidth + kPanelRight;
  std::vector<LegendEntry> legend = legend_of_lines(chart, ideal);
  const double legend_height = lay_out(legend, kLonePlotWidth);
  const Point under{kPageMargin + kPanelLeft, 2 * kPageMargin + kPanelHeight + kLegendGap};
  Svg svg(width, under.y + legend_height + kNoteRow * static_cast<double>(chart.notes.size()));
  Panel panel(svg, {{kPageMargin, kPageMargin}, kLonePlotWidth}, axis_from_zero(most.x), upright);
  panel.axes({.title = chart.title, .level = chart.level, .upright = chart.upright});
  panel.line(below(chart.ideal, upright.range.high), ideal);
  for (const ChartLine& line : chart.lines) {
    draw_band(panel, line);
  }
  for (const ChartLine& line : chart.lines) {
    draw_line(panel, line);
  }
  for (const ChartLine& line : chart.lines) {
    if (line.mark) {
      draw_mark(svg, panel, line);
    }
  }
  draw_legend(svg, under, legend);
  double note = under.y + legend_height + 2;
  for (const std::string& words : chart.notes) {
    svg.text({under.x, note}, words, {.size = 11, .colour = kIdealColour});
    note += kNoteRow;
  }
  return svg.document();
}

}  // namespace outpace::plot

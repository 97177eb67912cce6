#include "compare/plot.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compare/comparison_table.h"
#include "compare/curve.h"
#include "plot/axis.h"
#include "plot/panel.h"
#include "plot/svg.h"

namespace outpace::compare {
namespace {

using plot::Axis;
using plot::axis_from_zero;
using plot::axis_of;
using plot::draw_legend;
using plot::kLegendGap;
using plot::kLegendRow;
using plot::kLonePlotWidth;
using plot::kPageMargin;
using plot::kPanelHeight;
using plot::kPanelLeft;
using plot::kPanelRight;
using plot::lay_out;
using plot::LegendEntry;
using plot::Panel;
using plot::Point;
using plot::stroke_of;
using plot::Svg;

constexpr double kPlotWidth = 440.0;  // Of two beside each other.
constexpr std::size_t kTicksMost = 6;

struct Curve {
  std::size_t row;
  std::vector<CurvePoint> points;
};

std::vector<Curve> curves_of(const Config& config,
                             const std::vector<Cell>& cells,
                             const std::vector<Outcome>& outcomes,
                             std::size_t trace) {
  std::vector<Curve> curves;
  for (std::size_t row = 0; row < config.rows.size(); ++row) {
    std::vector<std::vector<AccuracyAt>> runs;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].row == row && cells[i].trace == trace && outcomes[i].result) {
        runs.push_back(outcomes[i].result->accuracy);
      }
    }
    if (std::vector<CurvePoint> points = curve_of(runs); !points.empty()) {
      curves.push_back({row, std::move(points)});
    }
  }
  return curves;
}

// Of all panels: what they have in common can be compared.
Axis accuracies(const std::vector<std::vector<Curve>>& panels, std::optional<double> target) {
  double low = target.value_or(1.0);
  double high = target.value_or(0.0);
  for (const std::vector<Curve>& curves : panels) {
    for (const Curve& curve : curves) {
      for (const CurvePoint& point : curve.points) {
        low = std::min(low, point.least);
        high = std::max(high, point.greatest);
      }
    }
  }
  return low <= high ? axis_of({100.0 * low, 100.0 * high}, kTicksMost) : axis_of({0, 100}, 5);
}

void draw_target(Svg& svg, const Panel& panel, double accuracy) {
  const double y = panel.at({0, 100.0 * accuracy}).y;
  svg.line(
      {panel.left(), y}, {panel.right(), y}, {.colour = "#555555", .width = 1.0, .dashes = "3 3"});
  svg.text({panel.right() - 4, y + 13},  // Below: where runs end, they are above it.
           fmt::format("target {:.4g}%", 100.0 * accuracy),
           {.size = 11, .colour = "#555555", .anchor = "end"});
}

// Of one of CurvePoint's accuracies, against seconds.
std::vector<Point> percents_of(const Curve& curve, double CurvePoint::*accuracy) {
  std::vector<Point> points;
  points.reserve(curve.points.size());
  for (const CurvePoint& point : curve.points) {
    points.push_back({point.seconds, 100.0 * (point.*accuracy)});
  }
  return points;
}

// Of the rows that are drawn anywhere.
std::vector<LegendEntry> legend_of(const Config& config,
                                   const std::vector<std::vector<Curve>>& panels) {
  std::vector<LegendEntry> entries;
  for (std::size_t row = 0; row < config.rows.size(); ++row) {
    const bool drawn = std::ranges::any_of(panels, [row](const std::vector<Curve>& curves) {
      return std::ranges::find(curves, row, &Curve::row) != curves.end();
    });
    if (drawn) {
      entries.push_back({config.rows[row].name, stroke_of(row)});
    }
  }
  return entries;
}

void draw_curves(Panel& panel, const std::vector<Curve>& curves) {
  for (const Curve& curve : curves) {
    panel.band(percents_of(curve, &CurvePoint::least),
               percents_of(curve, &CurvePoint::greatest),
               stroke_of(curve.row).colour);
  }
  for (const Curve& curve : curves) {
    const std::vector<Point> means = percents_of(curve, &CurvePoint::mean);
    panel.line(means, stroke_of(curve.row));
    panel.dot(means.back(), 3.5, stroke_of(curve.row).colour);
  }
  if (curves.empty()) {
    panel.say("no accuracy was measured");
  }
}

Axis times_of(const std::vector<Curve>& curves) {
  double last = 0.0;
  for (const Curve& curve : curves) {
    last = std::max(last, curve.points.back().seconds);
  }
  return axis_from_zero(last);
}

}  // namespace

std::string plot_of(const Config& config,
                    const std::vector<Cell>& cells,
                    const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<Curve>> panels;
  for (std::size_t trace = 0; trace < config.traces.size(); ++trace) {
    panels.push_back(curves_of(config, cells, outcomes, trace));
  }
  const std::size_t columns = std::min<std::size_t>(2, panels.size());
  const std::size_t rows = (panels.size() + columns - 1) / columns;
  const double plot_width = columns == 1 ? kLonePlotWidth : kPlotWidth;
  const double panel_width = kPanelLeft + plot_width + kPanelRight;
  const double width = 2 * kPageMargin + panel_width * static_cast<double>(columns);
  std::vector<LegendEntry> legend = legend_of(config, panels);
  const double legend_height = lay_out(legend, width - 2 * kPageMargin - kPanelLeft);
  const Point below{kPageMargin + kPanelLeft,
                    2 * kPageMargin + kPanelHeight * static_cast<double>(rows) + kLegendGap};
  const bool has_note = config.seeds.size() > 1;
  Svg svg(width, below.y + legend_height + (has_note ? kLegendRow : 0.0));

  const std::optional<double> target = target_of(config);
  const Axis percents = accuracies(panels, target);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t row = i / columns;
    const Point corner{kPageMargin + panel_width * static_cast<double>(i % columns),
                       kPageMargin + kPanelHeight * static_cast<double>(row)};
    Panel panel(svg, {corner, plot_width}, times_of(panels[i]), percents);
    const std::string& name = config.traces[i].name;
    panel.axes({.title = name.empty() ? "no trace of delays" : name,
                .level = config.mode == Mode::kLive ? "time (s)" : "simulated time (s)",
                .upright = "test accuracy (%)"});
    if (target) {
      draw_target(svg, panel, *target);
    }
    draw_curves(panel, panels[i]);
  }
  draw_legend(svg, below, legend);
  if (has_note) {
    svg.text({below.x, below.y + legend_height + 2},
             fmt::format("Mean of {} seeds; shaded: from the least to the greatest. A run that "
                         "ended counts with its last accuracy.",
                         config.seeds.size()),
             {.size = 11, .colour = "#777777"});
  }
  return svg.document();
}

}  // namespace outpace::compare

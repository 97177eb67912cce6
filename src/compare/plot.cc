#include "compare/plot.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "compare/axis.h"
#include "compare/curve.h"
#include "compare/svg.h"
#include "compare/table.h"

namespace outpace::compare {
namespace {

// Okabe & Ito, Color Universal Design (2008), without the yellow that white swallows: told apart by
// the colour-blind too. Past seven rows, dashes tell.
constexpr std::array<std::string_view, 7> kColours{
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<std::string_view, 4> kDashes{"", "7 3", "2 3", "9 3 2 3"};
constexpr std::string_view kGrid = "#e4e4e4";
constexpr std::string_view kFrame = "#888888";

// In pixels.
constexpr double kPlotWidth = 440.0;  // Of two beside each other.
constexpr double kLonePlotWidth = 640.0;
constexpr double kPlotHeight = 280.0;
constexpr double kLeft = 62.0;
constexpr double kRight = 22.0;
constexpr double kTop = 34.0;
constexpr double kBottom = 54.0;
constexpr double kPanelHeight = kTop + kPlotHeight + kBottom;
constexpr double kMargin = 10.0;
constexpr double kLegendRow = 20.0;
constexpr double kLegendGap = 8.0;    // Above it.
constexpr double kLegendLine = 30.0;  // The sample of a line.
constexpr double kLetterWidth = 6.7;  // Of 12 px letters, on average, or a little more.
constexpr std::size_t kTicksMost = 6;

struct Curve {
  std::size_t row;
  std::vector<CurvePoint> points;
};

Stroke stroke_of(std::size_t row) {
  return {.colour = kColours[row % kColours.size()],
          .width = 2.0,
          .dashes = kDashes[row / kColours.size() % kDashes.size()]};
}

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

struct Place {
  Point corner;  // The upper left one of the panel.
  double width;  // Of where the curves are.
};

class Panel {
 public:
  Panel(Svg& svg, const Place& place, Axis seconds, Axis percents)
      : svg_(svg),
        origin_{place.corner.x + kLeft, place.corner.y + kTop},
        width_(place.width),
        seconds_(std::move(seconds)),
        percents_(std::move(percents)) {}

  void axes(const std::string& title, const std::string& unit) {
    const Point end{origin_.x + width_, origin_.y + kPlotHeight};
    svg_.text({origin_.x, origin_.y - 12}, title, {.size = 14, .bold = true});
    for (const double tick : seconds_.ticks) {
      const double x = at(tick, 0).x;
      svg_.line({x, origin_.y}, {x, end.y}, {.colour = kGrid});
      svg_.text({x, end.y + 18}, text_of(tick, seconds_), {.anchor = "middle"});
    }
    for (const double tick : percents_.ticks) {
      const double y = at(0, tick).y;
      svg_.line({origin_.x, y}, {end.x, y}, {.colour = kGrid});
      svg_.text({origin_.x - 8, y + 4}, text_of(tick, percents_), {.anchor = "end"});
    }
    svg_.polyline({origin_, {origin_.x, end.y}, end}, {.colour = kFrame});
    svg_.text({origin_.x + width_ / 2, end.y + 40}, unit, {.anchor = "middle"});
    svg_.text({origin_.x - 46, origin_.y + kPlotHeight / 2},
              "test accuracy (%)",
              {.anchor = "middle", .upwards = true});
  }

  void target(double accuracy) {
    const double y = at(0, 100.0 * accuracy).y;
    svg_.line({origin_.x, y},
              {origin_.x + width_, y},
              {.colour = "#555555", .width = 1.0, .dashes = "3 3"});
    svg_.text({origin_.x + width_ - 4, y + 13},  // Below: where runs end, they are above it.
              fmt::format("target {:.4g}%", 100.0 * accuracy),
              {.size = 11, .colour = "#555555", .anchor = "end"});
  }

  void spread(const Curve& curve) {
    std::vector<Point> outline;
    for (const CurvePoint& point : curve.points) {
      outline.push_back(at(point.seconds, 100.0 * point.greatest));
    }
    for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point) {
      outline.push_back(at(point->seconds, 100.0 * point->least));
    }
    svg_.polygon(outline, stroke_of(curve.row).colour, 0.12);
  }

  void line(const Curve& curve) {
    std::vector<Point> points;
    for (const CurvePoint& point : curve.points) {
      points.push_back(at(point.seconds, 100.0 * point.mean));
    }
    svg_.polyline(points, stroke_of(curve.row));
    svg_.dot(points.back(), 3.5, stroke_of(curve.row).colour);
  }

  void say(std::string_view words) {
    svg_.text({origin_.x + width_ / 2, origin_.y + kPlotHeight / 2},
              words,
              {.colour = "#777777", .anchor = "middle"});
  }

 private:
  [[nodiscard]] Point at(double seconds, double percent) const {
    const auto share = [](double value, const Range& range) {
      return (value - range.low) / (range.high - range.low);
    };
    return {origin_.x + width_ * share(seconds, seconds_.range),
            origin_.y + kPlotHeight * (1.0 - share(percent, percents_.range))};
  }

  [[nodiscard]] static std::string text_of(double tick, const Axis& axis) {
    return tick_text(tick, axis.ticks[1] - axis.ticks[0]);
  }

  Svg& svg_;
  const Point origin_;  // The upper left corner of where the curves are.
  const double width_;
  const Axis seconds_;
  const Axis percents_;
};

struct LegendEntry {
  std::size_t row;
  Point at;
};

// Left to right, as many in a line as fit. The corner of the first is 0, 0.
std::vector<LegendEntry> legend_of(const Config& config,
                                   const std::vector<std::vector<Curve>>& panels,
                                   double width) {
  std::vector<LegendEntry> entries;
  Point next{0.0, 0.0};
  for (std::size_t row = 0; row < config.rows.size(); ++row) {
    const bool drawn = std::ranges::any_of(panels, [row](const std::vector<Curve>& curves) {
      return std::ranges::find(curves, row, &Curve::row) != curves.end();
    });
    if (!drawn) {
      continue;
    }
    const double length =
        kLegendLine + 8 + kLetterWidth * static_cast<double>(config.rows[row].name.size()) + 18;
    if (next.x > 0.0 && next.x + length > width) {
      next = {0.0, next.y + kLegendRow};
    }
    entries.push_back({row, next});
    next.x += length;
  }
  return entries;
}

void draw(Panel& panel, const std::vector<Curve>& curves, std::optional<double> target) {
  if (target) {
    panel.target(*target);
  }
  for (const Curve& curve : curves) {
    panel.spread(curve);
  }
  for (const Curve& curve : curves) {
    panel.line(curve);
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
  if (last <= 0.0) {
    return axis_of({0.0, 1.0}, kTicksMost);
  }
  Axis axis = axis_of({0.0, last}, kTicksMost);
  axis.range.high = std::min(axis.range.high, 1.04 * last);  // No empty end.
  std::erase_if(axis.ticks, [&axis](double tick) { return tick > axis.range.high; });
  return axis;
}

void draw_legend(Svg& svg,
                 Point corner,
                 const Config& config,
                 const std::vector<LegendEntry>& legend) {
  for (const LegendEntry& entry : legend) {
    const Point at{corner.x + entry.at.x, corner.y + entry.at.y};
    svg.line({at.x, at.y - 4}, {at.x + kLegendLine, at.y - 4}, stroke_of(entry.row));
    svg.text({at.x + kLegendLine + 8, at.y}, config.rows[entry.row].name, {});
  }
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
  const double panel_width = kLeft + plot_width + kRight;
  const double width = 2 * kMargin + panel_width * static_cast<double>(columns);
  const auto legend = legend_of(config, panels, width - 2 * kMargin - kLeft);
  const double legend_height = legend.empty() ? 0.0 : legend.back().at.y + kLegendRow;
  const Point below{kMargin + kLeft,
                    2 * kMargin + kPanelHeight * static_cast<double>(rows) + kLegendGap};
  const bool has_note = config.seeds.size() > 1;
  Svg svg(width, below.y + legend_height + (has_note ? kLegendRow : 0.0));

  const std::optional<double> target = target_of(config);
  const Axis percents = accuracies(panels, target);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t row = i / columns;
    const Point corner{kMargin + panel_width * static_cast<double>(i % columns),
                       kMargin + kPanelHeight * static_cast<double>(row)};
    Panel panel(svg, {corner, plot_width}, times_of(panels[i]), percents);
    const std::string& name = config.traces[i].name;
    panel.axes(name.empty() ? "no trace of delays" : name,
               config.mode == Mode::kLive ? "time (s)" : "simulated time (s)");
    draw(panel, panels[i], target);
  }
  draw_legend(svg, below, config, legend);
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

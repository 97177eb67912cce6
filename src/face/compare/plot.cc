#include "compare/plot.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "compare/comparison_table.h"
#include "compare/curve.h"
#include "plot/axis.h"
#include "plot/panel.h"
#include "plot/svg.h"

namespace outpace::compare {
namespace {

using plot::Axis;
using plot::kLegendGap;
using plot::kLegendRow;
using plot::kPageMargin;
using plot::kPanelFoot;
using plot::kPanelLeft;
using plot::kPanelRight;
using plot::kPanelTop;
using plot::LegendEntry;
using plot::Panel;
using plot::Point;
using plot::Stroke;
using plot::stroke_of;
using plot::Svg;

constexpr std::size_t kTicksMost = 6;
constexpr double kHeadingHeight = 28.0;  // The name of a group.
constexpr double kBlockGap = 22.0;       // The gap between two groups.
constexpr double kLogarithmicFrom = 2.0;
constexpr double kCutShare = 0.05;       // The share of evaluations that may lie below the axis.
constexpr std::size_t kOthersNamed = 3;  // Up to this many grey rows have dashes and a name each.
constexpr std::string_view kOtherColour = "#a8a8a8";
constexpr std::string_view kBackgroundColour = "#d0d0d0";

struct Curve {
  std::size_t row;
  std::vector<CurvePoint> points;
};

// The curves of one trace.
using Curves = std::vector<Curve>;

// The row that reaches the target first on a trace, by the mean of its runs.
struct First {
  std::size_t row;
  double seconds;
};

Curves curves_of(const Config& config,
                 const std::vector<Cell>& cells,
                 const std::vector<Outcome>& outcomes,
                 std::size_t trace) {
  Curves curves;
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

// Nothing if no row reaches the target in each of its runs, or there is only one row.
std::optional<First> first_of(const Config& config,
                              const std::vector<Cell>& cells,
                              const std::vector<Outcome>& outcomes,
                              std::size_t trace) {
  std::optional<First> first;
  for (std::size_t row = 0; row < config.rows.size() && config.rows.size() > 1; ++row) {
    double sum = 0.0;
    std::size_t runs = 0;
    bool all = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].row == row && cells[i].trace == trace) {
        const auto& result = outcomes[i].result;
        all = all && result && result->seconds_to_target;
        sum += all ? *result->seconds_to_target : 0.0;
        ++runs;
      }
    }
    const double mean = runs > 0 ? sum / static_cast<double>(runs) : 0.0;
    if (all && runs > 0 && (!first || mean < first->seconds)) {
      first = First{.row = row, .seconds = mean};
    }
  }
  return first;
}

// ---- Groups -------------------------------------------------------------------------------------

// The user's groups. Without them, all rows in their order are split evenly into as few groups as
// the colours allow.
std::vector<Group> groups_of(const Config& config) {
  if (!config.groups.empty()) {
    return config.groups;
  }
  const std::size_t rows = config.rows.size();
  const std::size_t count = (rows + kGroupRowsMost - 1) / kGroupRowsMost;
  std::vector<Group> groups(count);
  for (std::size_t row = 0; row < rows; ++row) {
    groups[row * count / rows].rows.push_back(row);
  }
  return groups;
}

std::optional<std::size_t> place_in(const Group& group, std::size_t row) {
  const auto found = std::ranges::find(group.rows, row);
  return found == group.rows.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - group.rows.begin()));
}

bool is_drawn(const std::vector<Curves>& traces, std::size_t row) {
  return std::ranges::any_of(traces, [row](const Curves& curves) {
    return std::ranges::find(curves, row, &Curve::row) != curves.end();
  });
}

// The rows outside of the group that have a curve in any panel.
std::vector<std::size_t> others_of(const Config& config,
                                   const std::vector<Curves>& traces,
                                   const Group& group) {
  std::vector<std::size_t> others;
  for (std::size_t row = 0; row < config.rows.size(); ++row) {
    if (!place_in(group, row) && is_drawn(traces, row)) {
      others.push_back(row);
    }
  }
  return others;
}

// Many grey rows are a pale background.
Stroke grey_of(const std::vector<std::size_t>& others, std::size_t row) {
  if (others.size() > kOthersNamed) {
    return {.colour = kBackgroundColour, .width = 1.0};
  }
  const auto place = std::ranges::find(others, row) - others.begin();
  return {.colour = kOtherColour,
          .width = 1.3,
          .dashes = plot::dashes_of(static_cast<std::size_t>(place))};
}

// The legend has the rows with a curve in any panel. Many grey rows share one entry.
std::vector<LegendEntry> legend_of(const Config& config,
                                   const std::vector<Curves>& traces,
                                   const Group& group) {
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    if (is_drawn(traces, group.rows[i])) {
      entries.push_back({config.rows[group.rows[i]].name, stroke_of(i)});
    }
  }
  const std::vector<std::size_t> others = others_of(config, traces, group);
  if (others.size() > kOthersNamed) {
    entries.push_back(
        {fmt::format("the other {}", others.size()), {.colour = kBackgroundColour, .width = 2.0}});
  } else {
    for (const std::size_t row : others) {
      entries.push_back({config.rows[row].name, grey_of(others, row)});
    }
  }
  return entries;
}

// ---- Axes ---------------------------------------------------------------------------------------

// All panels share this axis, so that they can be compared. A few very low evaluations, such as the
// first ones, would squeeze all others, so the lowest few may lie below the axis.
Axis accuracies(const std::vector<Curves>& traces, std::optional<double> target) {
  std::vector<double> means;
  double high = target.value_or(0.0);
  for (const Curves& curves : traces) {
    for (const Curve& curve : curves) {
      std::ranges::transform(curve.points, std::back_inserter(means), &CurvePoint::mean);
      for (const CurvePoint& point : curve.points) {
        high = std::max(high, point.greatest);
      }
    }
  }
  if (means.empty()) {
    return plot::axis_of({0, 100}, 5);
  }
  const auto lowest =
      means.begin() + static_cast<std::ptrdiff_t>(kCutShare * static_cast<double>(means.size()));
  std::ranges::nth_element(means, lowest);
  return plot::axis_of({100.0 * std::min(*lowest, target.value_or(1.0)), 100.0 * high}, kTicksMost);
}

bool reaches_below(const std::vector<Curves>& traces, const Axis& percents) {
  return std::ranges::any_of(traces, [&percents](const Curves& curves) {
    return std::ranges::any_of(curves, [&percents](const Curve& curve) {
      return std::ranges::any_of(curve.points, [&percents](const CurvePoint& point) {
        return 100.0 * point.mean < percents.range.low;
      });
    });
  });
}

// All panels of a trace share this axis. It is logarithmic for runs of very different lengths:
// there a run that is twice as fast is the same distance ahead everywhere.
Axis times_of(const Curves& curves) {
  if (curves.empty()) {
    return plot::axis_from_zero(0.0);
  }
  double first = curves.front().points.front().seconds;
  double shortest = curves.front().points.back().seconds;
  double longest = shortest;
  for (const Curve& curve : curves) {
    first = std::min(first, curve.points.front().seconds);
    shortest = std::min(shortest, curve.points.back().seconds);
    longest = std::max(longest, curve.points.back().seconds);
  }
  return first > 0.0 && longest > kLogarithmicFrom * shortest
             ? plot::logarithmic_axis_of({0.9 * first, 1.1 * longest}, kTicksMost + 1)
             : plot::axis_from_zero(longest);
}

// ---- One panel ----------------------------------------------------------------------------------

// One of a curve's accuracies in percent, against seconds.
std::vector<Point> percents_of(const Curve& curve, double CurvePoint::*accuracy) {
  std::vector<Point> points;
  points.reserve(curve.points.size());
  for (const CurvePoint& point : curve.points) {
    points.push_back({point.seconds, 100.0 * (point.*accuracy)});
  }
  return points;
}

// The words stand below the line at the right, because most runs end above it.
void draw_target(Svg& svg, const Panel& panel, double left, double accuracy) {
  const double y = panel.at({left, 100.0 * accuracy}).y;
  svg.line(
      {panel.left(), y}, {panel.right(), y}, {.colour = "#555555", .width = 1.0, .dashes = "3 3"});
  svg.text({panel.right() - 4, y + 13},
           fmt::format("target {:.4g}%", 100.0 * accuracy),
           {.size = 11, .colour = "#555555", .anchor = "end", .halo = true});
}

// Below the words of the target, in the colour of the row's curve.
void draw_first(
    Svg& svg, const Panel& panel, Point target, const std::string& words, std::string_view colour) {
  svg.text({panel.right() - 4, panel.at(target).y + 28},
           words,
           {.size = 12, .colour = colour, .anchor = "end", .bold = true, .halo = true});
}

void draw_curves(Panel& panel,
                 const Curves& curves,
                 const Group& group,
                 const std::vector<std::size_t>& others) {
  panel.begin_clip();
  for (const Curve& curve : curves) {
    if (!place_in(group, curve.row)) {
      panel.line(percents_of(curve, &CurvePoint::mean), grey_of(others, curve.row));
    }
  }
  for (const Curve& curve : curves) {
    if (const auto place = place_in(group, curve.row)) {
      panel.band(percents_of(curve, &CurvePoint::least),
                 percents_of(curve, &CurvePoint::greatest),
                 stroke_of(*place).colour);
    }
  }
  for (const Curve& curve : curves) {
    if (const auto place = place_in(group, curve.row)) {
      const std::vector<Point> means = percents_of(curve, &CurvePoint::mean);
      panel.line(means, stroke_of(*place));
      panel.dot(means.back(), 3.5, stroke_of(*place).colour);
    }
  }
  panel.end_clip();
  if (curves.empty()) {
    panel.say("no accuracy was measured");
  }
}

// ---- The page -----------------------------------------------------------------------------------

// A block is a group: its heading, a panel for each trace, and its legend.
struct Layout {
  std::size_t columns;
  double width;   // The area of a panel's curves,
  double height;  // in pixels both.
  [[nodiscard]] double panel_width() const { return kPanelLeft + width + kPanelRight; }
  [[nodiscard]] double panel_height() const { return kPanelTop + height + kPanelFoot; }
  [[nodiscard]] double page_width() const {
    return 2 * kPageMargin + panel_width() * static_cast<double>(columns);
  }
  [[nodiscard]] double legend_width() const { return page_width() - 2 * kPageMargin - kPanelLeft; }
};

Layout layout_of(std::size_t traces, std::size_t groups) {
  if (traces == 1) {
    return {.columns = 1, .width = plot::kLonePlotWidth, .height = plot::kPlotHeight};
  }
  if (traces == 2 || groups == 1) {
    return {.columns = 2, .width = 350.0, .height = groups == 1 ? plot::kPlotHeight : 220.0};
  }
  return {.columns = 3, .width = 215.0, .height = 200.0};
}

struct Block {
  const Group& group;
  std::vector<std::size_t> others;
  std::vector<LegendEntry> legend;
  double legend_height;
};

class Page {
 public:
  Page(const Config& config,
       const std::vector<Curves>& traces,
       std::vector<std::optional<First>> firsts)
      : config_(config),
        traces_(traces),
        firsts_(std::move(firsts)),
        target_(target_of(config)),
        percents_(accuracies(traces, target_)) {
    std::ranges::transform(traces, std::back_inserter(times_), times_of);
  }

  [[nodiscard]] std::string document() const {
    const std::vector<Group> groups = groups_of(config_);
    const Layout layout = layout_of(traces_.size(), groups.size());
    std::vector<Block> blocks;
    double height = 2 * kPageMargin;
    for (const Group& group : groups) {
      Block block{.group = group,
                  .others = others_of(config_, traces_, group),
                  .legend = legend_of(config_, traces_, group),
                  .legend_height = 0};
      block.legend_height = lay_out(block.legend, layout.legend_width());
      height += height_of(block, layout);
      blocks.push_back(std::move(block));
    }
    const std::vector<std::string> notes = notes_of();
    Svg svg(layout.page_width(), height + kLegendRow * static_cast<double>(notes.size()));
    double top = kPageMargin;
    for (const Block& block : blocks) {
      draw(svg, block, layout, top);
      top += height_of(block, layout);
    }
    for (const std::string& note : notes) {
      svg.text(
          {kPageMargin + kPanelLeft, top + kPageMargin}, note, {.size = 11, .colour = "#777777"});
      top += kLegendRow;
    }
    return svg.document();
  }

 private:
  [[nodiscard]] std::size_t rows(const Layout& layout) const {
    return (traces_.size() + layout.columns - 1) / layout.columns;
  }

  [[nodiscard]] double panels_height(const Block& block, const Layout& layout) const {
    return (block.group.name.empty() ? 0.0 : kHeadingHeight) +
           layout.panel_height() * static_cast<double>(rows(layout));
  }

  [[nodiscard]] double height_of(const Block& block, const Layout& layout) const {
    return panels_height(block, layout) + kLegendGap + block.legend_height + kBlockGap;
  }

  void draw(Svg& svg, const Block& block, const Layout& layout, double top) const {
    svg.text({kPageMargin + kPanelLeft, top + 18}, block.group.name, {.size = 16, .bold = true});
    const double panels = top + (block.group.name.empty() ? 0.0 : kHeadingHeight);
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const std::size_t column = i % layout.columns;
      const std::size_t row = i / layout.columns;
      const Point corner{kPageMargin + layout.panel_width() * static_cast<double>(column),
                         panels + layout.panel_height() * static_cast<double>(row)};
      Panel panel(svg, {corner, layout.width, layout.height}, times_[i], percents_);
      panel.axes(words_of(i, column));
      draw_curves(panel, traces_[i], block.group, block.others);
      if (target_) {
        draw_target(svg, panel, times_[i].range.low, *target_);
      }
      if (target_ && firsts_[i]) {
        const auto place = place_in(block.group, firsts_[i]->row);
        draw_first(
            svg,
            panel,
            {times_[i].range.low, 100.0 * *target_},
            fmt::format(
                "first: {}, {:.1f} s", config_.rows[firsts_[i]->row].name, firsts_[i]->seconds),
            place ? stroke_of(*place).colour : grey_of(block.others, firsts_[i]->row).colour);
      }
    }
    draw_legend(svg,
                {kPageMargin + kPanelLeft, top + panels_height(block, layout) + kLegendGap + 10},
                block.legend);
  }

  [[nodiscard]] plot::PanelWords words_of(std::size_t trace, std::size_t column) const {
    const std::string& name = config_.traces[trace].name;
    const std::string time = config_.mode == Mode::kLive ? "time (s)" : "simulated time (s)";
    return {.title = name.empty() ? "no trace of delays" : name,
            .level = time + (times_[trace].logarithmic ? ", logarithmic" : ""),
            .upright = column == 0 ? "test accuracy (%)" : ""};
  }

  [[nodiscard]] std::vector<std::string> notes_of() const {
    std::vector<std::string> notes;
    if (config_.seeds.size() > 1) {
      notes.push_back(
          fmt::format("Mean of {} seeds; shaded: from the least to the greatest. A run that "
                      "ended counts with its last accuracy.",
                      config_.seeds.size()));
    }
    if (reaches_below(traces_, percents_)) {
      notes.push_back(fmt::format("Accuracies below {:.4g}% are not shown.", percents_.range.low));
    }
    return notes;
  }

  const Config& config_;
  const std::vector<Curves>& traces_;
  const std::vector<std::optional<First>> firsts_;  // By trace.
  const std::optional<double> target_;
  const Axis percents_;
  std::vector<Axis> times_;  // One for each trace.
};

}  // namespace

std::string plot_of(const Config& config,
                    const std::vector<Cell>& cells,
                    const std::vector<Outcome>& outcomes) {
  std::vector<Curves> traces;
  std::vector<std::optional<First>> firsts;
  for (std::size_t trace = 0; trace < config.traces.size(); ++trace) {
    traces.push_back(curves_of(config, cells, outcomes, trace));
    firsts.push_back(first_of(config, cells, outcomes, trace));
  }
  return Page(config, traces, std::move(firsts)).document();
}

}  // namespace outpace::compare

#include "plot/cutoff_plot.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "plot/axis.h"
#include "plot/panel.h"
#include "plot/svg.h"

namespace outpace::plot {
namespace {

// Okabe & Ito, Color Universal Design (2008).
constexpr std::string_view kChosenColour = "#d55e00";
constexpr std::string_view kOracleColour = "#009e73";
constexpr std::string_view kSyncColour = "#555555";
constexpr std::string_view kBandColour = "#56b4e9";
constexpr std::string_view kDotColour = "#9a9a9a";
constexpr std::string_view kWindowColour = "#f0e442";
constexpr std::string_view kNoteColour = "#777777";

// In pixels.
constexpr double kWide = 800.0;   // The area of the curves.
constexpr double kTitle = 30.0;   // The figure's title, above the first panel.
constexpr double kBetween = 6.0;  // The gap between two panels.
constexpr double kOverviewHeight = 130.0;
constexpr double kTimesHeight = 290.0;
constexpr double kCountsHeight = 110.0;
constexpr double kKeyHeight = 46.0;
constexpr double kNotesHeight = 30.0;

constexpr std::size_t kBlocksMost = 100;
constexpr std::size_t kRanksMost = 32;  // Arrivals of an iteration that are drawn.
constexpr double kLogarithmicFrom = 3.0;
constexpr std::size_t kTimeTicksMost = 7;

const Stroke kChosenStroke{.colour = kChosenColour, .width = 2.4};
const Stroke kOracleStroke{.colour = kOracleColour, .width = 4.5};  // Seen on both sides of it.
const Stroke kSyncStroke{.colour = kSyncColour, .width = 1.2, .dashes = "5 3"};

using Iterations = std::span<const CutoffIteration>;

double height_of(double plot_height) {
  return kPanelTop + plot_height + kTicksFoot + kBetween;
}

// An axis of iterations, with ticks at whole rows of the trace.
Axis row_axis(std::size_t first_row, std::size_t count) {
  const double first = static_cast<double>(first_row);
  const double last = first + static_cast<double>(count) - 1.0;
  Axis rows{.range = {0.0, static_cast<double>(count)}, .ticks = {}};
  for (const double row : axis_of({first, std::max(last, first + 1.0)}, 10).ticks) {
    if (row >= first && row <= last && row == std::floor(row)) {
      rows.ticks.push_back(row - first + 0.5);
      rows.words.push_back(tick_text(row, 1.0));
    }
  }
  return rows;
}

// ---- From end to end ----------------------------------------------------------------------------

struct Rates {
  std::vector<double> sync;
  std::vector<double> chosen;
  std::vector<double> oracle;
};

struct Total {
  double gradients = 0.0;
  double seconds = 0.0;
  void add(const CutoffStop& stop) {
    gradients += stop.count;
    seconds += stop.seconds;
  }
  [[nodiscard]] double rate() const { return gradients / seconds; }
};

CutoffStop all_of(const CutoffIteration& one) {
  return {.seconds = one.came.back(), .count = static_cast<std::uint32_t>(one.came.size())};
}

Rates rates_of(Iterations iterations, std::size_t block) {
  Rates rates;
  for (std::size_t begin = 0; begin < iterations.size(); begin += block) {
    Total sync;
    Total chosen;
    Total oracle;
    for (const CutoffIteration& one :
         iterations.subspan(begin, std::min(block, iterations.size() - begin))) {
      sync.add(all_of(one));
      chosen.add(one.chosen);
      oracle.add(one.oracle);
    }
    rates.sync.push_back(sync.rate());
    rates.chosen.push_back(chosen.rate());
    rates.oracle.push_back(oracle.rate());
  }
  return rates;
}

void draw_overview(Svg& svg, const CutoffFigure& figure, double top) {
  const std::size_t count = figure.iterations.size();
  const std::size_t block = (count + kBlocksMost - 1) / kBlocksMost;
  const Rates rates = rates_of(figure.iterations, block);
  double most = 0.0;
  for (const std::vector<double>* of : {&rates.sync, &rates.chosen, &rates.oracle}) {
    most = std::max(most, *std::max_element(of->begin(), of->end()));
  }
  const Axis axis = axis_of({0.0, most}, 4);
  Panel panel(svg, {{0, top}, kWide, kOverviewHeight}, row_axis(figure.first_row, count), axis);
  const Point begin = panel.at({static_cast<double>(figure.window), axis.range.high});
  const Point end =
      panel.at({static_cast<double>(std::min(figure.window + kCutoffWindow, count)), 0.0});
  svg.boxes(
      {{.corner = begin, .width = end.x - begin.x, .height = end.y - begin.y}}, kWindowColour, 0.3);
  panel.axes({.title = block == 1
                           ? std::string("Gradients a second, of each iteration")
                           : fmt::format("Gradients a second, in blocks of {} iterations; yellow: "
                                         "the window below",
                                         block),
              .level = "",
              .upright = "gradients/s"});
  const auto line = [&](const std::vector<double>& values, const Stroke& stroke) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double first = static_cast<double>(i * block);
      const double last = std::min(static_cast<double>(count), first + static_cast<double>(block));
      points.push_back({0.5 * (first + last), values[i]});
    }
    panel.line(points, stroke);
  };
  line(rates.oracle, {.colour = kOracleColour, .width = 3.5});
  line(rates.sync, kSyncStroke);
  line(rates.chosen, {.colour = kChosenColour, .width = 1.6});
}

// ---- The window ---------------------------------------------------------------------------------

std::string seconds_text(double seconds) {
  return seconds < 1.0 ? fmt::format("{:.6g} ms", 1e3 * seconds) : fmt::format("{:.6g} s", seconds);
}

// The axis holds every arrival and every stop; the tail of a forecast may reach beyond it.
Axis times_in(Iterations iterations) {
  double low = iterations.front().came.front();
  double high = low;
  for (const CutoffIteration& one : iterations) {
    low = std::min({low, one.came.front(), one.chosen.seconds});
    high = std::max({high, one.came.back(), one.chosen.seconds});
  }
  Axis axis = high < kLogarithmicFrom * low
                  ? axis_of({low, high}, kTimeTicksMost)
                  : logarithmic_axis_of({0.9 * low, 1.1 * high}, kTimeTicksMost);
  for (const double tick : axis.ticks) {
    axis.words.push_back(seconds_text(tick));
  }
  return axis;
}

// The ranks that are drawn, evenly spaced, with the first and the last among them.
std::vector<std::size_t> ranks_of(std::size_t arrivals) {
  const std::size_t drawn = std::min(arrivals, kRanksMost);
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < drawn; ++i) {
    ranks.push_back(drawn == 1 ? 0 : i * (arrivals - 1) / (drawn - 1));
  }
  return ranks;
}

void draw_bands(Svg& svg, const Panel& panel, Iterations iterations) {
  std::vector<Box> wide;
  std::vector<Box> narrow;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (const auto& band = iterations[i].forecast) {
      const double place = static_cast<double>(i);
      const auto box = [&](double low, double high) {
        const Point upper = panel.nearest({place + 0.06, high});
        const Point lower = panel.nearest({place + 0.94, low});
        return Box{.corner = upper,
                   .width = lower.x - upper.x,
                   .height = std::max(lower.y - upper.y, 1.0)};
      };
      wide.push_back(box(band->low90, band->high90));
      narrow.push_back(box(band->low50, band->high50));
    }
  }
  svg.boxes(wide, kBandColour, 0.35);
  svg.boxes(narrow, kBandColour, 0.75);
}

template <typename ValueOf>
void draw_stops(
    Svg& svg, const Panel& panel, Iterations iterations, const Stroke& stroke, ValueOf value_of) {
  std::vector<Dash> dashes;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const double place = static_cast<double>(i);
    const Point from = panel.nearest({place, value_of(iterations[i])});
    dashes.push_back({.from = from, .length = kWide / static_cast<double>(iterations.size())});
  }
  svg.dashes(dashes, stroke);
}

void draw_times(Svg& svg, Iterations iterations, std::size_t first_row, double top) {
  Panel panel(svg,
              {{0, top}, kWide, kTimesHeight},
              row_axis(first_row, iterations.size()),
              times_in(iterations));
  panel.axes({.title = "When gradients came, and when the update was made",
              .level = "",
              .upright = "since the iteration began"});
  draw_bands(svg, panel, iterations);
  draw_stops(svg, panel, iterations, kOracleStroke, [](const CutoffIteration& one) {
    return one.oracle.seconds;
  });
  std::vector<Point> dots;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const std::vector<double>& came = iterations[i].came;
    for (const std::size_t rank : ranks_of(came.size())) {
      dots.push_back(panel.nearest({static_cast<double>(i) + 0.5, came[rank]}));
    }
  }
  svg.dots(dots, 2.6, kDotColour);
  draw_stops(svg, panel, iterations, kChosenStroke, [](const CutoffIteration& one) {
    return one.chosen.seconds;
  });
}

void draw_counts(Svg& svg, Iterations iterations, std::size_t first_row, double top) {
  const auto workers = static_cast<double>(iterations.front().came.size());
  const auto count = static_cast<double>(iterations.size());
  Panel panel(svg,
              {{0, top}, kWide, kCountsHeight},
              row_axis(first_row, iterations.size()),
              axis_of({0.0, workers}, 4));
  panel.axes({.title = "Gradients of the update",
              .level = "iteration (row of the trace)",
              .upright = "gradients"});
  panel.line({{0.0, workers}, {count, workers}}, kSyncStroke);
  draw_stops(svg, panel, iterations, kOracleStroke, [](const CutoffIteration& one) {
    return static_cast<double>(one.oracle.count);
  });
  draw_stops(svg, panel, iterations, kChosenStroke, [](const CutoffIteration& one) {
    return static_cast<double>(one.chosen.count);
  });
}

// ---- What it all means --------------------------------------------------------------------------

void draw_key(Svg& svg, const CutoffFigure& figure, double top) {
  Total sync;
  Total chosen;
  Total oracle;
  for (const CutoffIteration& one : figure.iterations) {
    sync.add(all_of(one));
    chosen.add(one.chosen);
    oracle.add(one.oracle);
  }
  const auto sample = [&](double x, const Stroke& stroke, const std::string& words) {
    svg.line({x, top - 4}, {x + 30, top - 4}, stroke);
    svg.text({x + 38, top}, words, {});
  };
  sample(kPanelLeft,
         kChosenStroke,
         fmt::format("{}: {:.3f} x sync", figure.rule, chosen.rate() / sync.rate()));
  sample(kPanelLeft + 290,
         kOracleStroke,
         fmt::format("oracle: {:.3f} x sync", oracle.rate() / sync.rate()));
  sample(kPanelLeft + 520, kSyncStroke, "sync: waits for all");
  const double below = top + 22;
  svg.dots({{kPanelLeft + 15, below - 4}}, 2.6, kDotColour);
  svg.text({kPanelLeft + 38, below}, "a gradient came", {});
  const Box box{.corner = {kPanelLeft + 290, below - 11}, .width = 30, .height = 14};
  svg.boxes({box}, kBandColour, 0.35);
  svg.boxes({{.corner = {box.corner.x, below - 7}, .width = 30, .height = 6}}, kBandColour, 0.75);
  svg.text({kPanelLeft + 328, below},
           "forecast of the last gradient waited for: its 50 % and 90 % intervals",
           {});
}

void draw_notes(Svg& svg, const CutoffFigure& figure, std::size_t shown, double top) {
  const std::size_t arrivals = figure.iterations.front().came.size();
  const std::size_t first = figure.first_row + figure.window;
  std::string note = fmt::format(
      "The window: {} of the {} iterations that are judged, rows {} to {} of the trace.",
      shown,
      figure.iterations.size(),
      first,
      first + shown - 1);
  if (arrivals > kRanksMost) {
    note +=
        fmt::format(" {} of {} arrivals are drawn, evenly spaced in rank.", kRanksMost, arrivals);
  }
  const Font font{.size = 11, .colour = kNoteColour};
  svg.text({kPanelLeft, top}, note, font);
  svg.text({kPanelLeft, top + 16},
           "The oracle knows each iteration's runtimes beforehand. A forecast is that of the "
           "iteration's beginning; what is beyond the axis is cut off.",
           font);
}

}  // namespace

std::string cutoff_plot_of(const CutoffFigure& figure) {
  CHECK(figure.window < figure.iterations.size());
  const std::size_t shown = std::min(kCutoffWindow, figure.iterations.size() - figure.window);
  const Iterations window = Iterations(figure.iterations).subspan(figure.window, shown);
  const double times = kTitle + height_of(kOverviewHeight);
  const double counts = times + height_of(kTimesHeight);
  const double key = counts + kPanelTop + kCountsHeight + kPanelFoot + kBetween;
  Svg svg(kPanelLeft + kWide + kPanelRight, key + kKeyHeight + kNotesHeight);
  svg.text({kPanelLeft, 24},
           fmt::format("{}: {} workers, {}", figure.trace, window.front().came.size(), figure.rule),
           {.size = 15, .bold = true});
  draw_overview(svg, figure, kTitle);
  draw_times(svg, window, figure.first_row + figure.window, times);
  draw_counts(svg, window, figure.first_row + figure.window, counts);
  draw_key(svg, figure, key + 8);
  draw_notes(svg, figure, shown, key + kKeyHeight + 4);
  return svg.document();
}

}  // namespace outpace::plot

#include "plot/cutoff_plot.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "plot/axis.h"
#include "plot/svg.h"

namespace outpace::plot {
namespace {

// Okabe & Ito, Color Universal Design (2008).
constexpr std::string_view kChosenColour = "#d55e00";
constexpr std::string_view kOracleColour = "#009e73";
constexpr std::string_view kSyncColour = "#555555";
constexpr std::string_view kBandColour = "#56b4e9";
constexpr std::string_view kDotColour = "#9a9a9a";
constexpr std::string_view kGridColour = "#e4e4e4";
constexpr std::string_view kFrameColour = "#888888";
constexpr std::string_view kWindowColour = "#f0e442";
constexpr std::string_view kNoteColour = "#777777";

// In pixels.
constexpr double kWide = 800.0;  // Of where the curves are.
constexpr double kLeftSide = 76.0;
constexpr double kRightSide = 24.0;
constexpr double kHead = 60.0;     // Above the first panel: the figure's title.
constexpr double kBetween = 62.0;  // Two panels: the axis of the one, the title of the other.
constexpr double kOverviewHeight = 130.0;
constexpr double kTimesHeight = 290.0;
constexpr double kCountsHeight = 110.0;
constexpr double kFoot = 128.0;  // Legend and notes.

constexpr std::size_t kBlocksMost = 100;
constexpr std::size_t kRanksMost = 32;  // Arrivals of an iteration that are drawn.
constexpr double kLogarithmicFrom = 3.0;
constexpr std::size_t kTimeTicksMost = 7;

const Stroke kChosenStroke{.colour = kChosenColour, .width = 2.4};
const Stroke kOracleStroke{.colour = kOracleColour, .width = 4.5};  // Seen on both sides of it.
const Stroke kSyncStroke{.colour = kSyncColour, .width = 1.2, .dashes = "5 3"};

using Iterations = std::span<const CutoffIteration>;

// A level axis of places and an upright one of values, which may be logarithmic.
class Frame {
 public:
  Frame(Svg& svg, double top, double height, Range places, Axis values, bool logarithmic = false)
      : svg_(svg),
        top_(top),
        height_(height),
        places_(places),
        values_(std::move(values)),
        logarithmic_(logarithmic) {}

  [[nodiscard]] Point at(double place, double value) const {
    const auto scaled = [this](double v) { return logarithmic_ ? std::log(v) : v; };
    const double low = scaled(values_.range.low);
    const double high = scaled(values_.range.high);
    const double share =
        (scaled(std::clamp(value, values_.range.low, values_.range.high)) - low) / (high - low);
    return {kLeftSide + kWide * (place - places_.low) / (places_.high - places_.low),
            top_ + height_ * (1.0 - share)};
  }

  void draw(std::string_view title,
            std::string_view unit,
            const std::vector<std::pair<double, std::string>>& place_ticks,
            const std::vector<std::string>& value_ticks) const {
    const double bottom = top_ + height_;
    svg_.text({kLeftSide, top_ - 10}, title, {.size = 13, .bold = true});
    for (const auto& [place, words] : place_ticks) {
      const double x = at(place, values_.range.low).x;
      svg_.line({x, bottom}, {x, bottom + 4}, {.colour = kFrameColour});
      svg_.text({x, bottom + 18}, words, {.size = 11, .anchor = "middle"});
    }
    for (std::size_t i = 0; i < values_.ticks.size(); ++i) {
      const double y = at(places_.low, values_.ticks[i]).y;
      svg_.line({kLeftSide, y}, {kLeftSide + kWide, y}, {.colour = kGridColour});
      svg_.text({kLeftSide - 8, y + 4}, value_ticks[i], {.size = 11, .anchor = "end"});
    }
    svg_.polyline({{kLeftSide, top_}, {kLeftSide, bottom}, {kLeftSide + kWide, bottom}},
                  {.colour = kFrameColour});
    svg_.text({20, top_ + height_ / 2}, unit, {.anchor = "middle", .upwards = true});
  }

 private:
  Svg& svg_;
  const double top_;
  const double height_;
  const Range places_;
  const Axis values_;
  const bool logarithmic_;
};

std::vector<std::string> texts_of(const Axis& axis) {
  std::vector<std::string> texts;
  for (const double tick : axis.ticks) {
    texts.push_back(tick_text(tick, axis.ticks[1] - axis.ticks[0]));
  }
  return texts;
}

// Whole rows of the trace, as ticks at the iterations' places.
std::vector<std::pair<double, std::string>> row_ticks(std::size_t first_row, std::size_t count) {
  const double first = static_cast<double>(first_row);
  const double last = first + static_cast<double>(count) - 1.0;
  const Axis axis = axis_of({first, std::max(last, first + 1.0)}, 10);
  std::vector<std::pair<double, std::string>> ticks;
  for (const double tick : axis.ticks) {
    if (tick >= first && tick <= last && tick == std::floor(tick)) {
      ticks.emplace_back(tick - first + 0.5, tick_text(tick, 1.0));
    }
  }
  return ticks;
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
  const Frame frame(svg, top, kOverviewHeight, {0.0, static_cast<double>(count)}, axis);
  const Point begin = frame.at(static_cast<double>(figure.window), axis.range.high);
  const Point end =
      frame.at(static_cast<double>(std::min(figure.window + kCutoffWindow, count)), 0.0);
  svg.boxes(
      {{.corner = begin, .width = end.x - begin.x, .height = end.y - begin.y}}, kWindowColour, 0.3);
  frame.draw(block == 1 ? std::string("Gradients a second, of each iteration")
                        : fmt::format("Gradients a second, in blocks of {} iterations; yellow: the "
                                      "window below",
                                      block),
             "gradients/s",
             row_ticks(figure.first_row, count),
             texts_of(axis));
  const auto line = [&](const std::vector<double>& values, const Stroke& stroke) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double first = static_cast<double>(i * block);
      const double last = std::min(static_cast<double>(count), first + static_cast<double>(block));
      points.push_back(frame.at(0.5 * (first + last), values[i]));
    }
    svg.polyline(points, stroke);
  };
  line(rates.oracle, {.colour = kOracleColour, .width = 3.5});
  line(rates.sync, kSyncStroke);
  line(rates.chosen, {.colour = kChosenColour, .width = 1.6});
}

// ---- The window ---------------------------------------------------------------------------------

// 1, 2 and 5 times powers of ten.
std::vector<double> logarithmic_ticks(Range range) {
  std::vector<double> ticks;
  const auto last = static_cast<int>(std::floor(std::log10(range.high)));
  for (auto exponent = static_cast<int>(std::floor(std::log10(range.low))); exponent <= last;
       ++exponent) {
    const double power = std::pow(10.0, exponent);
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= range.low && factor * power <= range.high) {
        ticks.push_back(factor * power);
      }
    }
  }
  return ticks;
}

struct TimeAxis {
  Axis axis;
  bool logarithmic;
};

// Of what came and when it was stopped; a forecast's tail may be beyond it.
TimeAxis times_in(Iterations iterations) {
  double low = iterations.front().came.front();
  double high = low;
  for (const CutoffIteration& one : iterations) {
    low = std::min({low, one.came.front(), one.chosen.seconds});
    high = std::max({high, one.came.back(), one.chosen.seconds});
  }
  if (high < kLogarithmicFrom * low) {
    return {axis_of({low, high}, kTimeTicksMost), false};
  }
  const Range range{0.9 * low, 1.1 * high};
  return {{.range = range, .ticks = logarithmic_ticks(range)}, true};
}

std::string seconds_text(double seconds) {
  return seconds < 1.0 ? fmt::format("{:.6g} ms", 1e3 * seconds) : fmt::format("{:.6g} s", seconds);
}

// Of so many arrivals the ranks that are drawn, the first and the last among them.
std::vector<std::size_t> ranks_of(std::size_t arrivals) {
  const std::size_t drawn = std::min(arrivals, kRanksMost);
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < drawn; ++i) {
    ranks.push_back(drawn == 1 ? 0 : i * (arrivals - 1) / (drawn - 1));
  }
  return ranks;
}

void draw_bands(Svg& svg, const Frame& frame, Iterations iterations) {
  std::vector<Box> wide;
  std::vector<Box> narrow;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (const auto& band = iterations[i].foretold) {
      const double place = static_cast<double>(i);
      const auto box = [&](double low, double high) {
        const Point upper = frame.at(place + 0.06, high);
        const Point lower = frame.at(place + 0.94, low);
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
    Svg& svg, const Frame& frame, Iterations iterations, const Stroke& stroke, ValueOf value_of) {
  std::vector<Dash> dashes;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const double place = static_cast<double>(i);
    const Point from = frame.at(place, value_of(iterations[i]));
    dashes.push_back({.from = from, .length = frame.at(place + 1.0, 1.0).x - from.x});
  }
  svg.dashes(dashes, stroke);
}

void draw_times(Svg& svg, Iterations iterations, std::size_t first_row, double top) {
  const TimeAxis times = times_in(iterations);
  const Frame frame(svg,
                    top,
                    kTimesHeight,
                    {0.0, static_cast<double>(iterations.size())},
                    times.axis,
                    times.logarithmic);
  std::vector<std::string> texts;
  for (const double tick : times.axis.ticks) {
    texts.push_back(seconds_text(tick));
  }
  frame.draw("When gradients came, and when the update was made",
             "since the iteration began",
             row_ticks(first_row, iterations.size()),
             texts);
  draw_bands(svg, frame, iterations);
  draw_stops(svg, frame, iterations, kOracleStroke, [](const CutoffIteration& one) {
    return one.oracle.seconds;
  });
  std::vector<Point> dots;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const std::vector<double>& came = iterations[i].came;
    for (const std::size_t rank : ranks_of(came.size())) {
      dots.push_back(frame.at(static_cast<double>(i) + 0.5, came[rank]));
    }
  }
  svg.dots(dots, 2.6, kDotColour);
  draw_stops(svg, frame, iterations, kChosenStroke, [](const CutoffIteration& one) {
    return one.chosen.seconds;
  });
}

void draw_counts(Svg& svg, Iterations iterations, std::size_t first_row, double top) {
  const auto workers = static_cast<double>(iterations.front().came.size());
  const Axis axis = axis_of({0.0, workers}, 4);
  const Frame frame(svg, top, kCountsHeight, {0.0, static_cast<double>(iterations.size())}, axis);
  frame.draw("Gradients of the update",
             "gradients",
             row_ticks(first_row, iterations.size()),
             texts_of(axis));
  const double y = frame.at(0.0, workers).y;
  svg.line({kLeftSide, y}, {kLeftSide + kWide, y}, kSyncStroke);
  draw_stops(svg, frame, iterations, kOracleStroke, [](const CutoffIteration& one) {
    return static_cast<double>(one.oracle.count);
  });
  draw_stops(svg, frame, iterations, kChosenStroke, [](const CutoffIteration& one) {
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
  sample(kLeftSide,
         kChosenStroke,
         fmt::format("{}: {:.3f} x sync", figure.rule, chosen.rate() / sync.rate()));
  sample(kLeftSide + 290,
         kOracleStroke,
         fmt::format("oracle: {:.3f} x sync", oracle.rate() / sync.rate()));
  sample(kLeftSide + 520, kSyncStroke, "sync: waits for all");
  const double below = top + 22;
  svg.dots({{kLeftSide + 15, below - 4}}, 2.6, kDotColour);
  svg.text({kLeftSide + 38, below}, "a gradient came", {});
  const Box box{.corner = {kLeftSide + 290, below - 11}, .width = 30, .height = 14};
  svg.boxes({box}, kBandColour, 0.35);
  svg.boxes({{.corner = {box.corner.x, below - 7}, .width = 30, .height = 6}}, kBandColour, 0.75);
  svg.text({kLeftSide + 328, below},
           "foretold for the last gradient waited for: 50 % and 90 % of the forecast",
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
        fmt::format(" Of {} arrivals {} are drawn, evenly spaced in rank.", arrivals, kRanksMost);
  }
  const Font font{.size = 11, .colour = kNoteColour};
  svg.text({kLeftSide, top}, note, font);
  svg.text({kLeftSide, top + 16},
           "The oracle knows each iteration's runtimes beforehand. A forecast is that of the "
           "iteration's beginning; what is beyond the axis is cut off.",
           font);
}

}  // namespace

std::string cutoff_plot_of(const CutoffFigure& figure) {
  CHECK(figure.window < figure.iterations.size());
  const std::size_t shown = std::min(kCutoffWindow, figure.iterations.size() - figure.window);
  const Iterations window = Iterations(figure.iterations).subspan(figure.window, shown);
  const double times = kHead + kOverviewHeight + kBetween;
  const double counts = times + kTimesHeight + kBetween;
  const double key = counts + kCountsHeight + 54;
  Svg svg(kLeftSide + kWide + kRightSide, counts + kCountsHeight + kFoot);
  svg.text({kLeftSide, 24},
           fmt::format("{}: {} workers, {}", figure.trace, window.front().came.size(), figure.rule),
           {.size = 15, .bold = true});
  draw_overview(svg, figure, kHead);
  draw_times(svg, window, figure.first_row + figure.window, times);
  draw_counts(svg, window, figure.first_row + figure.window, counts);
  svg.text({kLeftSide + kWide / 2, counts + kCountsHeight + 32},
           "iteration (row of the trace)",
           {.size = 11, .anchor = "middle"});
  draw_key(svg, figure, key);
  draw_notes(svg, figure, shown, key + 42);
  return svg.document();
}

}  // namespace outpace::plot

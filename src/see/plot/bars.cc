#include "plot/bars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/check.h"
#include "plot/axis.h"
#include "plot/svg.h"

namespace outpace::plot {
namespace {

// Okabe & Ito, Color Universal Design (2008).
constexpr std::string_view kBarColour = "#56b4e9";
constexpr std::string_view kEmphasisColour = "#d55e00";
constexpr std::string_view kIntervalColour = "#222222";
constexpr std::string_view kBarGridColour = "#e4e4e4";
constexpr std::string_view kBarNoteColour = "#777777";

// In pixels.
constexpr double kBarsWide = 420.0;
constexpr double kWordsWide = 190.0;
constexpr double kLetterWide = 6.8;
constexpr double kBarsMargin = 20.0;
constexpr double kBarsTop = 44.0;
constexpr double kBarRowHigh = 28.0;
constexpr double kBarHigh = 16.0;
constexpr double kBarNoteHigh = 18.0;

constexpr std::array kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

double most_of(const std::vector<Bar>& bars) {
  double most = 0.0;
  for (const Bar& bar : bars) {
    CHECK(std::isfinite(bar.value) && bar.value >= 0.0);
    most = std::max({most, bar.value, bar.interval ? bar.interval->high : 0.0});
  }
  return most;
}

std::size_t longest_name(const std::vector<Bar>& bars) {
  std::size_t longest = 0;
  for (const Bar& bar : bars) {
    longest = std::max(longest, bar.name.size());
  }
  return longest;
}

void draw_interval(Svg& svg, const Interval& interval, double y, double left, double scale) {
  const double low = left + scale * interval.low;
  const double high = left + scale * interval.high;
  const Stroke stroke{.colour = kIntervalColour, .width = 1.2};
  svg.line({low, y}, {high, y}, stroke);
  for (const double end : {low, high}) {
    svg.line({end, y - 4}, {end, y + 4}, stroke);
  }
}

}  // namespace

std::string bar_lines(const std::vector<Bar>& bars, std::size_t width) {
  double most = 0.0;
  for (const Bar& bar : bars) {
    CHECK(std::isfinite(bar.value) && bar.value >= 0.0);
    most = std::max(most, bar.value);
  }
  const std::size_t names = longest_name(bars);
  std::string lines;
  for (const Bar& bar : bars) {
    const double share = most > 0.0 ? bar.value / most : 0.0;
    const auto eighths =
        static_cast<std::size_t>(std::lround(share * 8.0 * static_cast<double>(width)));
    std::string drawn;
    for (std::size_t i = 0; i < eighths / 8; ++i) {
      drawn.append("█");
    }
    drawn.append(kEighths.at(eighths % 8));
    const std::size_t cells = (eighths + 7) / 8;
    lines +=
        fmt::format("{:<{}}  {}{:>{}}  {}\n", bar.name, names, drawn, "", width - cells, bar.words);
  }
  return lines;
}

std::string bar_plot_of(const BarChart& chart) {
  CHECK(!chart.bars.empty());
  const double left =
      kBarsMargin + kLetterWide * static_cast<double>(longest_name(chart.bars)) + 8.0;
  const double bottom = kBarsTop + kBarRowHigh * static_cast<double>(chart.bars.size());
  const Axis axis = axis_of({0.0, most_of(chart.bars)}, 6);
  const double scale = kBarsWide / axis.range.high;
  Svg svg(left + kBarsWide + kWordsWide,
          bottom + 52.0 + kBarNoteHigh * static_cast<double>(chart.notes.size()));
  svg.text({kBarsMargin, 24}, chart.title, {.size = 14, .bold = true});
  for (const double tick : axis.ticks) {
    const double x = left + scale * tick;
    svg.line({x, kBarsTop}, {x, bottom}, {.colour = kBarGridColour});
    svg.text({x, bottom + 16},
             tick_text(tick, axis.ticks[1] - axis.ticks[0]),
             {.size = 11, .anchor = "middle"});
  }
  svg.text({left + 0.5 * kBarsWide, bottom + 34}, chart.unit, {.anchor = "middle"});
  double top = kBarsTop;
  for (const Bar& bar : chart.bars) {
    const double middle = top + 0.5 * kBarRowHigh;
    svg.boxes({{.corner = {left, middle - 0.5 * kBarHigh},
                .width = scale * bar.value,
                .height = kBarHigh}},
              bar.emphasised ? kEmphasisColour : kBarColour,
              0.85);
    double end = bar.value;
    if (bar.interval) {
      draw_interval(svg, *bar.interval, middle, left, scale);
      end = std::max(end, bar.interval->high);
    }
    svg.text({left - 8, middle + 4}, bar.name, {.anchor = "end"});
    svg.text({left + scale * end + 8, middle + 4}, bar.words, {.size = 11});
    top += kBarRowHigh;
  }
  double note = bottom + 52.0;
  for (const std::string& words : chart.notes) {
    svg.text({kBarsMargin, note}, words, {.size = 11, .colour = kBarNoteColour});
    note += kBarNoteHigh;
  }
  return svg.document();
}

}  // namespace outpace::plot

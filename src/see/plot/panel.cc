#include "plot/panel.h"

#include <algorithm>
#include <array>
#include <utility>

namespace outpace::plot {
namespace {

// Okabe & Ito, Color Universal Design (2008), without the yellow that white swallows: told apart by
// the colour-blind too. Past seven kinds, dashes tell.
constexpr std::array<std::string_view, 7> kColours{
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<std::string_view, 4> kDashes{"", "7 3", "2 3", "9 3 2 3"};
constexpr std::string_view kGrid = "#e4e4e4";
constexpr std::string_view kFrame = "#888888";

constexpr double kLegendLine = 30.0;  // The sample of a line.
constexpr double kLetterWidth = 6.7;  // For 12 px letters, on average, or a little more.
constexpr std::size_t kLevelTicksMost = 6;

}  // namespace

Stroke stroke_of(std::size_t kind) {
  return {.colour = kColours.at(kind % kColours.size()),
          .width = 2.0,
          .dashes = dashes_of(kind / kColours.size())};
}

std::string_view dashes_of(std::size_t kind) {
  return kDashes.at(kind % kDashes.size());
}

Panel::Panel(Svg& svg, const PanelPlace& place, Axis level, Axis upright)
    : svg_(svg),
      origin_{place.corner.x + kPanelLeft, place.corner.y + kPanelTop},
      width_(place.width),
      height_(place.height),
      level_(std::move(level)),
      upright_(std::move(upright)) {}

void Panel::axes(const PanelWords& words) {
  const Point end{origin_.x + width_, origin_.y + height_};
  svg_.text({origin_.x, origin_.y - 12}, words.title, {.size = 14, .bold = true});
  for (std::size_t i = 0; i < level_.ticks.size(); ++i) {
    const double x = at({level_.ticks[i], upright_.range.low}).x;
    svg_.line({x, origin_.y}, {x, end.y}, {.colour = kGrid});
    svg_.text({x, end.y + 18}, tick_words(level_, i), {.anchor = "middle"});
  }
  for (std::size_t i = 0; i < upright_.ticks.size(); ++i) {
    const double y = at({level_.range.low, upright_.ticks[i]}).y;
    svg_.line({origin_.x, y}, {end.x, y}, {.colour = kGrid});
    svg_.text({origin_.x - 8, y + 4}, tick_words(upright_, i), {.anchor = "end"});
  }
  svg_.polyline({origin_, {origin_.x, end.y}, end}, {.colour = kFrame});
  svg_.text({origin_.x + width_ / 2, end.y + 40}, words.level, {.anchor = "middle"});
  svg_.text({origin_.x - 60, origin_.y + height_ / 2},
            words.upright,
            {.anchor = "middle", .upwards = true});
}

void Panel::band(const std::vector<Point>& low,
                 const std::vector<Point>& high,
                 std::string_view colour) {
  std::vector<Point> outline;
  outline.reserve(low.size() + high.size());
  for (const Point& point : high) {
    outline.push_back(at(point));
  }
  for (auto point = low.rbegin(); point != low.rend(); ++point) {
    outline.push_back(at(*point));
  }
  svg_.polygon(outline, colour, 0.12);
}

void Panel::line(const std::vector<Point>& points, const Stroke& stroke) {
  std::vector<Point> pixels;
  pixels.reserve(points.size());
  for (const Point& point : points) {
    pixels.push_back(at(point));
  }
  svg_.polyline(pixels, stroke);
}

void Panel::dot(Point where, double radius, std::string_view colour) {
  svg_.dot(at(where), radius, colour);
}

void Panel::say(std::string_view words) {
  svg_.text({origin_.x + width_ / 2, origin_.y + height_ / 2},
            words,
            {.colour = "#777777", .anchor = "middle"});
}

void Panel::begin_clip() {
  svg_.begin_clip({.corner = origin_, .width = width_, .height = height_});
}

void Panel::end_clip() {
  svg_.end_clip();
}

Point Panel::at(Point where) const {
  return {origin_.x + width_ * share_of(where.x, level_),
          origin_.y + height_ * (1.0 - share_of(where.y, upright_))};
}

Point Panel::nearest(Point where) const {
  return at({std::clamp(where.x, level_.range.low, level_.range.high),
             std::clamp(where.y, upright_.range.low, upright_.range.high)});
}

Axis axis_from_zero(double last) {
  if (last <= 0.0) {
    return axis_of({0.0, 1.0}, kLevelTicksMost);
  }
  Axis axis = axis_of({0.0, last}, kLevelTicksMost);
  axis.range.high = std::min(axis.range.high, 1.04 * last);
  std::erase_if(axis.ticks, [&axis](double tick) { return tick > axis.range.high; });
  return axis;
}

double lay_out(std::vector<LegendEntry>& entries, double width) {
  Point next{0.0, 0.0};
  for (LegendEntry& entry : entries) {
    const double length =
        kLegendLine + 8 + kLetterWidth * static_cast<double>(entry.name.size()) + 18;
    if (next.x > 0.0 && next.x + length > width) {
      next = {0.0, next.y + kLegendRow};
    }
    entry.at = next;
    next.x += length;
  }
  return entries.empty() ? 0.0 : next.y + kLegendRow;
}

void draw_legend(Svg& svg, Point corner, const std::vector<LegendEntry>& entries) {
  for (const LegendEntry& entry : entries) {
    const Point at{corner.x + entry.at.x, corner.y + entry.at.y};
    svg.line({at.x, at.y - 4}, {at.x + kLegendLine, at.y - 4}, entry.stroke);
    svg.text({at.x + kLegendLine + 8, at.y}, entry.name, {});
  }
}

}  // namespace outpace::plot

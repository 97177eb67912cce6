#include "plot/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/number_text.h"

namespace outpace::plot {
namespace {

// The least of 1, 2, 5, 10, ... that is at least as long.
double round_step(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= length * (1.0 - 1e-9)) {
      return factor * power;
    }
  }
  return 10.0 * power;
}

std::vector<double> logarithmic_ticks(Range range, std::initializer_list<double> factors) {
  std::vector<double> ticks;
  const auto last = static_cast<int>(std::floor(std::log10(range.high)));
  for (auto exponent = static_cast<int>(std::floor(std::log10(range.low))); exponent <= last;
       ++exponent) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, exponent);
      if (tick >= range.low && tick <= range.high) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

}  // namespace

Axis axis_of(Range data, std::size_t ticks_most) {
  CHECK(ticks_most > 0 && std::isfinite(data.low) && std::isfinite(data.high));
  CHECK(data.low <= data.high);
  if (data.high - data.low <= 1e-9 * std::max(std::abs(data.low), std::abs(data.high))) {
    const double room = data.high == 0.0 ? 1.0 : 0.1 * std::abs(data.high);
    data = {data.low - room, data.high + room};
  }
  const auto most = static_cast<double>(ticks_most);
  double step = round_step((data.high - data.low) / most);
  const auto first = [&] { return std::floor(data.low / step + 1e-9); };
  const auto last = [&] { return std::ceil(data.high / step - 1e-9); };
  while (last() - first() > most) {  // Whole ticks at both ends may be one too many.
    step = round_step(1.5 * step);
  }
  Axis axis{.range = {first() * step, last() * step}, .ticks = {}};
  const auto ticks = static_cast<std::size_t>(last() - first()) + 1;
  for (std::size_t i = 0; i < ticks; ++i) {
    axis.ticks.push_back((first() + static_cast<double>(i)) * step);
  }
  return axis;
}

Axis logarithmic_axis_of(Range range, std::size_t ticks_most) {
  CHECK(0.0 < range.low && range.low < range.high && std::isfinite(range.high));
  std::vector<double> ticks = logarithmic_ticks(range, {1.0, 2.0, 5.0});
  if (ticks.size() > ticks_most) {
    ticks = logarithmic_ticks(range, {1.0});
  }
  return {.range = range, .ticks = std::move(ticks), .logarithmic = true};
}

std::string tick_text(double tick, double step) {
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  if (decimals == 0 && tick >= 0.0) {
    return shown::grouped(tick);
  }
  return fmt::format("{:.{}f}", tick, decimals);
}

std::string tick_words(const Axis& axis, std::size_t i) {
  if (!axis.words.empty()) {
    return axis.words.at(i);
  }
  const double tick = axis.ticks.at(i);
  return tick_text(tick, axis.logarithmic ? tick : axis.ticks.at(1) - axis.ticks.at(0));
}

double share_of(double value, const Axis& axis) {
  const auto scaled = [&axis](double v) { return axis.logarithmic ? std::log(v) : v; };
  const double low = scaled(axis.range.low);
  return (scaled(value) - low) / (scaled(axis.range.high) - low);
}

}  // namespace outpace::plot

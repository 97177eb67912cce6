#include "plot/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/check.h"
#include "record/number_text.h"

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

std::string tick_text(double tick, double step) {
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  if (decimals == 0 && tick >= 0.0) {
    return record::grouped(tick);
  }
  return fmt::format("{:.{}f}", tick, decimals);
}

}  // namespace outpace::plot

#include "base/number_text.h"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace outpace::shown {

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t place = text.size(); place > 3; place -= 3) {
    text.insert(place - 3, ",");
  }
  return text;
}

std::string grouped(double value) {
  // Numbers above 2^63 are not counts.
  return value >= 0.0 && value < 0x1p63 ? grouped(static_cast<std::uint64_t>(std::llround(value)))
                                        : "-";
}

std::string rate(double value) {
  return value >= 0.0 && value < 99.95 ? fmt::format("{:.3g}", value)
         : value < 1e15                ? grouped(value)
         : std::isfinite(value)        ? fmt::format("{:.3g}", value)
                                       : "-";
}

std::string plain_rate(double value) {
  return value >= 99.95 && value < 1e15 ? fmt::format("{:.0f}", value) : rate(value);
}

std::string brief(double value) {
  if (!std::isfinite(value)) {
    return "-";
  }
  const double size = std::abs(value);
  if (size >= 999.5 && value > 0) {
    return size < 1e9 ? grouped(value) : fmt::format("{:.3g}", value);
  }
  return size < 9.9995 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
}

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f}%", 100.0 * share) : "-";
}

std::string elapsed(double seconds) {
  if (!(seconds >= 0.0 && seconds < 1e9)) {
    return "-";
  }
  if (seconds < 99.95) {
    return fmt::format("{:.1f}s", seconds);
  }
  const long long whole = std::llround(seconds);
  if (whole < 3600) {
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  }
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace outpace::shown

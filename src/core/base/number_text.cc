#include "base/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace outpace::shown {
namespace {

// By the format's rules in every locale.
std::string written(double value, std::chars_format format, int precision) {
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value, format, precision).ptr;
  return {text.begin(), end};
}
std::string digits(double value, int precision) {
  return written(value, std::chars_format::general, precision);
}
std::string fixed(double value, int places) {
  return written(value, std::chars_format::fixed, places);
}
std::string two_places(long long value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

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
  return value >= 0.0 && value < 99.95 ? digits(value, 3)
         : value < 1e15                ? grouped(value)
         : std::isfinite(value)        ? digits(value, 3)
                                       : "-";
}

std::string plain_rate(double value) {
  return value >= 99.95 && value < 1e15 ? fixed(value, 0) : rate(value);
}

std::string brief(double value) {
  if (!std::isfinite(value)) {
    return "-";
  }
  const double size = std::abs(value);
  if (size >= 999.5 && value > 0) {
    return size < 1e9 ? grouped(value) : digits(value, 3);
  }
  return size < 9.9995 ? fixed(value, 3) : fixed(value, 1);
}

std::string percent(double share) {
  return std::isfinite(share) ? fixed(100.0 * share, 1) + "%" : "-";
}

std::string bytes(std::uint64_t count) {
  static constexpr std::array kUnits{" KiB", " MiB", " GiB", " TiB"};
  constexpr double kStep = 1024.0;
  if (static_cast<double>(count) < kStep) {
    return std::to_string(count) + " B";
  }
  double value = static_cast<double>(count) / kStep;
  std::size_t unit = 0;
  for (; value >= kStep && unit + 1 < kUnits.size(); ++unit) {
    value /= kStep;
  }
  return brief(value) + kUnits.at(unit);
}

std::string elapsed(double seconds) {
  if (!(seconds >= 0.0 && seconds < 1e9)) {
    return "-";
  }
  if (seconds < 99.95) {
    return fixed(seconds, 1) + "s";
  }
  const long long whole = std::llround(seconds);
  if (whole < 3600) {
    return std::to_string(whole / 60) + "m" + two_places(whole % 60) + "s";
  }
  return std::to_string(whole / 3600) + "h" + two_places(whole % 3600 / 60) + "m";
}

}  // namespace outpace::shown

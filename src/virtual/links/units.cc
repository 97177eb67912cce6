#include "links/units.h"

#include <array>
#include <cmath>
#include <span>

#include "base/text.h"

namespace outpace::links {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kPrefixes{Unit{"", 1.0},
                               Unit{"k", 1e3},
                               Unit{"M", 1e6},
                               Unit{"G", 1e9},
                               Unit{"T", 1e12},
                               Unit{"P", 1e15},
                               Unit{"E", 1e18},
                               Unit{"Ki", 0x1p10},
                               Unit{"Mi", 0x1p20},
                               Unit{"Gi", 0x1p30},
                               Unit{"Ti", 0x1p40},
                               Unit{"Pi", 0x1p50},
                               Unit{"Ei", 0x1p60}};
constexpr std::array kNoPrefix{Unit{"", 1.0}};

constexpr std::array kTimes{Unit{"w", 604800.0},
                            Unit{"d", 86400.0},
                            Unit{"h", 3600.0},
                            Unit{"m", 60.0},
                            Unit{"s", 1.0},
                            Unit{"ms", 1e-3},
                            Unit{"us", 1e-6},
                            Unit{"ns", 1e-9},
                            Unit{"ps", 1e-12}};
constexpr std::array kBandwidths{Unit{"Bps", 1.0}, Unit{"bps", 0.125}};
constexpr std::array kSizes{Unit{"B", 1.0}};
constexpr std::array kSpeeds{Unit{"f", 1.0}};

// The number before the unit, if that is a number.
std::optional<double> before(std::string_view text, std::string_view unit) {
  return text.ends_with(unit) ? parse_number(text.substr(0, text.size() - unit.size()))
                              : std::nullopt;
}

std::optional<double> parse(std::string_view text,
                            std::span<const Unit> prefixes,
                            std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (text.ends_with(unit.name)) {
      const std::string_view rest = text.substr(0, text.size() - unit.name.size());
      for (const Unit& prefix : prefixes) {
        const auto number = before(rest, prefix.name);
        if (number && std::isfinite(*number * prefix.factor * unit.factor)) {
          return *number * prefix.factor * unit.factor;
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<double> above_zero(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> not_negative(std::optional<double> value) {
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

std::optional<double> parse_bandwidth(std::string_view text) {
  return above_zero(parse(text, kPrefixes, kBandwidths));
}

std::optional<double> parse_latency(std::string_view text) {
  return not_negative(parse(text, kNoPrefix, kTimes));
}

std::optional<double> parse_bytes(std::string_view text) {
  return not_negative(parse(text, kPrefixes, kSizes));
}

std::optional<double> parse_speed(std::string_view text) {
  return above_zero(parse(text, kPrefixes, kSpeeds));
}

}  // namespace outpace::links

#include "base/units.h"

#include <array>
#include <cmath>
#include <span>

#include "base/text.h"

namespace outpace {
namespace {

struct Named {
  std::string_view name;
  double factor;
};

constexpr std::array kPrefixes{Named{"", 1.0},
                               Named{"k", 1e3},
                               Named{"M", 1e6},
                               Named{"G", 1e9},
                               Named{"T", 1e12},
                               Named{"P", 1e15},
                               Named{"E", 1e18},
                               Named{"Ki", 0x1p10},
                               Named{"Mi", 0x1p20},
                               Named{"Gi", 0x1p30},
                               Named{"Ti", 0x1p40},
                               Named{"Pi", 0x1p50},
                               Named{"Ei", 0x1p60}};
constexpr std::array kNoPrefix{Named{"", 1.0}};

constexpr std::array kTimes{Named{"w", 604800.0},
                            Named{"d", 86400.0},
                            Named{"h", 3600.0},
                            Named{"m", 60.0},
                            Named{"s", 1.0},
                            Named{"ms", 1e-3},
                            Named{"us", 1e-6},
                            Named{"ns", 1e-9},
                            Named{"ps", 1e-12}};
constexpr std::array kBandwidths{Named{"Bps", 1.0}, Named{"bps", 0.125}};
constexpr std::array kSizes{Named{"B", 1.0}};
constexpr std::array kSpeeds{Named{"f", 1.0}};

// The number before the unit, if that is a number.
std::optional<double> before(std::string_view text, std::string_view unit) {
  return text.ends_with(unit) ? parse_number(text.substr(0, text.size() - unit.size()))
                              : std::nullopt;
}

std::optional<double> parse(std::string_view text,
                            std::span<const Named> prefixes,
                            std::span<const Named> units) {
  for (const Named& unit : units) {
    if (text.ends_with(unit.name)) {
      const std::string_view rest = text.substr(0, text.size() - unit.name.size());
      for (const Named& prefix : prefixes) {
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

}  // namespace outpace

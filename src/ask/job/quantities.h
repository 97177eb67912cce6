// Quantities with a unit, as options take them: each keeps the text as it was written.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "job/value_text.h"

namespace outpace::job {

struct Bandwidth {
  double bytes_per_second;  // Above 0.
  std::string text;
};
template <>
struct Value<Bandwidth> {
  static constexpr const char* kType = "RATE";
  static std::string takes() { return "a rate above 0 such as 1Gbps or 125MBps"; }
  static std::optional<Bandwidth> parse(std::string_view text) {
    const auto rate = parse_bandwidth(text);
    return rate && *rate > 0.0 ? std::optional(Bandwidth{*rate, std::string(text)}) : std::nullopt;
  }
  static std::string text(const Bandwidth& value) { return value.text; }
};

struct Bytes {
  double bytes;
  std::string text;
};
template <>
struct Value<Bytes> {
  static constexpr const char* kType = "SIZE";
  static std::string takes() { return "a size with its unit such as 400kB or 64MiB"; }
  static std::optional<Bytes> parse(std::string_view text) {
    const auto bytes = parse_bytes(text);
    return bytes ? std::optional(Bytes{*bytes, std::string(text)}) : std::nullopt;
  }
  static std::string text(const Bytes& value) { return value.text; }
};

// A time, or what the program finds out.
struct AutoDuration {
  std::optional<Duration> time;  // Nothing: "auto".
};
template <>
struct Value<AutoDuration> {
  static constexpr const char* kType = "DURATION";
  static std::string takes() { return "auto, or a duration above 0 such as 90s"; }
  static std::optional<AutoDuration> parse(std::string_view text) {
    if (text == "auto") {
      return AutoDuration{};
    }
    const auto time = Value<Duration>::parse(text);
    return time && *time > Duration{} ? std::optional(AutoDuration{time}) : std::nullopt;
  }
  static std::string text(const AutoDuration& value) {
    return value.time ? Value<Duration>::text(*value.time) : "auto";
  }
};

}  // namespace outpace::job

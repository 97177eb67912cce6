// Numbers with units as in SimGrid's platform files, "125MBps", "50us", "1Gf", and sizes.
//
// The unit is required: SimGrid once took a bare bandwidth as bytes/s, and warns about it today.

#pragma once

#include <optional>
#include <string_view>

namespace outpace {

// Bytes/s from "10kBps", "1.5MiBps" or "1Gbps" (bits); above 0.
[[nodiscard]] std::optional<double> parse_bandwidth(std::string_view text);
// Seconds from "10ms", "50us" or "0s"; at least 0.
[[nodiscard]] std::optional<double> parse_latency(std::string_view text);
// Bytes from "400kB" or "64MiB"; at least 0.
[[nodiscard]] std::optional<double> parse_bytes(std::string_view text);
// Floating-point operations per second from "98.095Mf"; above 0.
[[nodiscard]] std::optional<double> parse_speed(std::string_view text);

}  // namespace outpace

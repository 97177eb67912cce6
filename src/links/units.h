// Numbers with units as SimGrid's platform files have them: "125MBps", "50us", "1Gf"; and sizes.
//
// The unit must be there: SimGrid once took a bare bandwidth for bytes/s, and warns of it today.

#pragma once

#include <optional>
#include <string_view>

namespace outpace::links {

// Bytes/s from "10kBps", "1.5MiBps", "1Gbps" (bits), which is above 0.
[[nodiscard]] std::optional<double> parse_bandwidth(std::string_view text);
// Seconds from "10ms", "50us", "0s": at least 0.
[[nodiscard]] std::optional<double> parse_latency(std::string_view text);
// Bytes from "400kB", "64MiB": at least 0.
[[nodiscard]] std::optional<double> parse_bytes(std::string_view text);
// Floating-point operations a second from "98.095Mf", which is above 0.
[[nodiscard]] std::optional<double> parse_speed(std::string_view text);

}  // namespace outpace::links

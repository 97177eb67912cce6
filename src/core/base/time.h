// Time on a run's own clock, real or virtual: nanoseconds since the first weights were handed out.
//
// There is no now(). Drivers own the clock and pass the time in.

#pragma once

#include <chrono>
#include <cstdint>

namespace outpace {

struct RunClock {};

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<RunClock, Duration>;

[[nodiscard]] constexpr double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
[[nodiscard]] constexpr double to_seconds(Time time) {
  return to_seconds(time.time_since_epoch());
}
// Rounded to the nearest nanosecond, halves away from zero. As std::llround does, which is a call
// into the C library; simulations are made of it.
[[nodiscard]] constexpr Duration from_seconds(double seconds) {
  const double nanoseconds = seconds * 1e9;
  const auto whole = static_cast<std::int64_t>(nanoseconds);
  const double rest = nanoseconds - static_cast<double>(whole);  // Exact.
  return Duration{whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0)};
}

}  // namespace outpace

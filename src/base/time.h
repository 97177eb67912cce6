// Time on a run's own clock, real or virtual: nanoseconds since the first weights were handed out.
//
// There is no now(). Drivers own the clock and pass the time in.

#pragma once

#include <chrono>
#include <cmath>

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
// Rounded to the nearest nanosecond.
[[nodiscard]] inline Duration from_seconds(double seconds) {
  return Duration{std::llround(seconds * 1e9)};
}

}  // namespace outpace

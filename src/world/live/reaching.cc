#include "live/reaching.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/core.h>

namespace outpace::live {

std::optional<std::string> Reaching::failed(const std::string& why, Clock::time_point now) {
  if (now < next_) {
    return std::nullopt;
  }
  next_ = now + std::chrono::seconds(10);
  const auto left = limit_ - std::chrono::duration_cast<Duration>(now - begun_);
  return fmt::format("outpace: {} has not reached the server: {}; it tries for {:.0f} s more",
                     who_,
                     why,
                     std::max(0.0, to_seconds(left)));
}

void Reaching::tried(const std::string& why) {
  if (why.empty()) {
    return;
  }
  if (const auto line = failed(why, Clock::now())) {
    std::fprintf(stderr, "%s\n", line->c_str());
  }
}

std::function<void(std::size_t, Duration)> say_several(const std::string& who) {
  return [who](std::size_t connections, Duration round_trip) {
    std::fprintf(stderr,
                 "%s\n",
                 fmt::format("outpace: {} has {} connections to the server; the round trip takes "
                             "{:.0f} ms",
                             who,
                             connections,
                             1e3 * to_seconds(round_trip))
                     .c_str());
  };
}

}  // namespace outpace::live

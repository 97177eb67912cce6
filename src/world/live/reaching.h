// What a process says while it tries to reach its server: why the last try failed, after a second
// and then every ten seconds. A server that starts at the same time costs no word.

#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/time.h"

namespace outpace::live {

class Reaching {
 public:
  using Clock = std::chrono::steady_clock;

  // `who`: "worker 3". `limit`: how long it tries.
  Reaching(std::string who, Duration limit) : who_(std::move(who)), limit_(limit) {}

  // A try failed at `now`: a line to be printed, if it is time for one.
  [[nodiscard]] std::optional<std::string> failed(const std::string& why, Clock::time_point now);
  // Prints that line to standard error. An empty `why`, of a try that did not fail, is no news.
  void tried(const std::string& why);

 private:
  const std::string who_;
  const Duration limit_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point next_ = begun_ + std::chrono::seconds(1);
};

// For wire::ConnectOptions: prints that `who` has several connections, and why.
[[nodiscard]] std::function<void(std::size_t, Duration)> say_several(const std::string& who);

}  // namespace outpace::live

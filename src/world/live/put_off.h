// Whether what is due by the clock is put off, because messages lie in sockets.
//
// Where many workers share a server, the threads of their connections take turns on its processors,
// so a gradient lies in its socket for longer than it took to come. A policy's deadline would cut
// off its worker, as if that were slow. What is due waits until nothing lies there any more, but
// for a short time at most, because more can always come.

#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace outpace::live {

class PutOff {
 public:
  static constexpr Duration kLongest = std::chrono::milliseconds(10);
  static constexpr Duration kLooksAgain = std::chrono::milliseconds(1);

  // Whether what is due at `due` is put off at `now`. `unread` is asked only if something is due.
  template <typename Unread>
  [[nodiscard]] bool puts_off(Time now, Time due, const Unread& unread) {
    if (now >= due) {
      until_ = until_.value_or(now + kLongest);
      if (now < *until_ && unread()) {
        again_ = std::min(now + kLooksAgain, *until_);
        return true;
      }
    }
    until_.reset();
    return false;
  }
  // When to look again, of what is due at `due`.
  [[nodiscard]] Time again(Time due) const { return until_ ? again_ : due; }

 private:
  std::optional<Time> until_;  // While something is put off.
  Time again_{};
};

}  // namespace outpace::live

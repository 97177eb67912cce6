// The computing of a slowed worker: each part of it is delayed in proportion, so that what it sends
// in slices leaves in proportion later.

#pragma once

#include <chrono>

#include "base/time.h"
#include "live/worker_session.h"
#include "worker/pace.h"

namespace outpace::live {

class Slowed {
 public:
  Slowed(WorkerSession& session, const worker::Pace& pace)
      : session_(session), pace_(pace), resumed_(Clock::now()) {}

  // Waits in proportion to the computing since the last call. False if the task was abandoned
  // while it waited.
  bool wait() {
    pause();
    const double all = pace_.extra_seconds(computed_) + (session_.slowness() - 1.0) * computed_;
    if (const double extra = all - waited_; extra > 0.0 && goes_on_) {
      goes_on_ = session_.sleep_until(session_.now() + from_seconds(extra)) !=
                 worker::CancelMode::kAbandon;
      waited_ += extra;
    }
    resumed_ = Clock::now();
    return goes_on_;
  }
  // Returns what `aside` does, whose time does not count as computing.
  template <typename Aside>
  auto aside(Aside aside) {
    pause();
    auto result = aside();
    resumed_ = Clock::now();
    return result;
  }

  // Up to the last wait() or aside().
  [[nodiscard]] double computed_seconds() const { return computed_; }

 private:
  using Clock = std::chrono::steady_clock;

  void pause() { computed_ += std::chrono::duration<double>(Clock::now() - resumed_).count(); }

  WorkerSession& session_;
  const worker::Pace& pace_;
  Clock::time_point resumed_;
  double computed_ = 0.0;
  double waited_ = 0.0;
  bool goes_on_ = true;
};

}  // namespace outpace::live

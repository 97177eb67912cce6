// Which evaluator is served, and whether one is still to come.
//
// One evaluator is served at a time, the first that came. Others wait in line: one that was started
// in place of a lost one takes over as soon as the lost one's connection ends, and one that was
// started by mistake takes nothing from the first.

#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "base/connection_id.h"
#include "base/time.h"

namespace outpace::admission {

class Evaluators {
 public:
  // Whether this one is served at once; otherwise it waits in line.
  [[nodiscard]] bool come(ConnectionId evaluator);
  // Its connection has ended. True if it was served: the next one in line is now, if there is one.
  [[nodiscard]] bool gone(ConnectionId evaluator);
  // The run needs none any more.
  void dismiss_all();

  [[nodiscard]] std::optional<ConnectionId> served() const { return served_; }

  // A script evaluates. False if one has asked before.
  [[nodiscard]] bool ask() { return !std::exchange(asked_, true); }
  // The driver starts one, because a script asked for it.
  void starts(Time now) {
    comes_ = !served_;
    asked_at_ = now;
  }
  // The one that was started will not come.
  void failed() { comes_ = false; }
  // No script will ask for one any more.
  void nobody_will_ask() { asks_no_more_ = true; }

  // One was started, and has neither come nor failed.
  [[nodiscard]] bool comes() const { return comes_; }
  [[nodiscard]] Time asked_at() const { return asked_at_; }
  [[nodiscard]] bool may_be_asked_for() const { return !asked_ && !asks_no_more_; }

 private:
  std::optional<ConnectionId> served_;
  std::deque<ConnectionId> next_;  // In line, as they came.
  Time asked_at_{};
  bool asked_ = false;
  bool comes_ = false;
  bool asks_no_more_ = false;
};

}  // namespace outpace::admission

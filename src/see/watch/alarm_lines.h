// Which lines of the log alarms become.
//
// Alarms of workers that become slow, or recover, come in swarms where a machine is busy. They get
// one line a minute, which says what has become of all since the last one. Every other alarm is a
// line at once.

#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "watch/alarms.h"

namespace outpace::watch {

class AlarmLines {
 public:
  // The lines that are due now, with these alarms that are new. Times never decrease.
  [[nodiscard]] std::vector<std::string> take(Time now, const std::deque<Alarm>& alarms);
  // It has alarms to tell later.
  [[nodiscard]] bool waits() const { return !waiting_.empty(); }

 private:
  void wait(const Alarm& alarm);

  std::vector<Alarm> waiting_;  // The newest of each worker.
  std::optional<Time> told_;    // When the last line of them was.
};

}  // namespace outpace::watch

// A command that every alarm is told to, by its environment: OUTPACE_ALARM (the words),
// OUTPACE_ALARM_KIND, OUTPACE_ALARM_WORKER (empty: none), OUTPACE_ALARM_OVER (0 or 1) and
// OUTPACE_RUN. One runs at a time, for kAlarmCommandMost at most. At the end of the run, all that
// are left have kAtEndMost together.

#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "watch/alarms.h"

namespace outpace::run {

class AlarmCommand {
 public:
  // `said`: told of a command that fails. `run`: the directory of the run's record.
  AlarmCommand(std::string command, std::string run, std::function<void(const std::string&)> said);
  ~AlarmCommand();
  AlarmCommand(const AlarmCommand&) = delete;
  AlarmCommand& operator=(const AlarmCommand&) = delete;

  void tell(const watch::Alarm& alarm);

 private:
  void work(const std::stop_token& stop);
  void run_for(const watch::Alarm& alarm, const std::stop_token& stop);
  // Whether a command that began then has had its time.
  bool is_late(std::chrono::steady_clock::time_point begun, const std::stop_token& stop);

  const std::string command_;
  const std::string run_;
  const std::function<void(const std::string&)> said_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<watch::Alarm> waiting_;
  std::optional<std::chrono::steady_clock::time_point> last_;  // Once it is to stop: the deadline.
  std::jthread thread_;                                        // Last: it ends first.
};

}  // namespace outpace::run

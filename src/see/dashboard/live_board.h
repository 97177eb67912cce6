// The board of a run that goes on in this process: fed from the server's strand, read by the page's
// thread; and its alarms, which go to the log and to a command.

#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "dashboard/page_server.h"
#include "watch/alarm_lines.h"
#include "watch/board.h"

namespace outpace::dashboard {

// A command that every alarm is told to, by its environment: OUTPACE_ALARM (the words),
// OUTPACE_ALARM_KIND, OUTPACE_ALARM_WORKER (empty: none), OUTPACE_ALARM_OVER (0 or 1) and
// OUTPACE_RUN. One runs at a time, for kAlarmCommandMost at most. At the end of the run, all that
// are left have kAtEndMost together.
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

class LiveBoard {
 public:
  struct Options {
    std::string version;                           // The program's.
    std::optional<PageOptions> page;               // Nothing: no page.
    std::string on_alarm;                          // A command; empty: none.
    std::function<void(const std::string&)> said;  // A line of an alarm, for the log.
  };
  // Throws a usage error if the page cannot be served.
  LiveBoard(watch::About about, Options options)
      : LiveBoard(std::move(about), {}, std::move(options)) {}
  LiveBoard(watch::About about, watch::Lanes::Options lanes, Options options);
  ~LiveBoard();
  LiveBoard(const LiveBoard&) = delete;
  LiveBoard& operator=(const LiveBoard&) = delete;

  // `with` gets the board while nobody else has it; then new alarms are passed on. From any thread.
  template <typename With>
  auto visit(With with) {
    if constexpr (std::is_void_v<decltype(with(board_))>) {
      std::unique_lock lock(mutex_);
      with(board_);
      pass_on(lock);
    } else {
      const std::lock_guard lock(mutex_);
      return with(board_);
    }
  }
  // Where the page is; empty: nowhere.
  [[nodiscard]] std::string url() const { return page_ ? page_->url() : ""; }

 private:
  void pass_on(std::unique_lock<std::mutex>& lock);

  const std::function<void(const std::string&)> said_;
  std::mutex mutex_;
  watch::Board board_;
  watch::AlarmLines lines_;
  std::unique_ptr<AlarmCommand> command_;
  std::unique_ptr<PageServer> page_;  // Last: its thread reads the board.
};

}  // namespace outpace::dashboard

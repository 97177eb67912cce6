// The board of a run that goes on in this process: fed from the server's strand, read by the page's
// thread; and its alarms, which go to the log and to a callback.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "dashboard/page_server.h"
#include "policy/recent_decisions.h"
#include "watch/alarm_lines.h"
#include "watch/board.h"

namespace outpace::dashboard {

class LiveBoard {
 public:
  struct Options {
    std::string version;              // The program's.
    std::optional<PageOptions> page;  // Nothing: no page.
    // A Chrome trace of the newest decisions of this policy, which the page offers.
    std::function<std::string(const policy::RecentDecisions::Parts&, const std::string& policy)>
        trace;
    std::function<void(const watch::Alarm&)> on_alarm;  // May be null.
    std::function<void(const std::string&)> said;       // A line of an alarm, for the log.
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
  const std::function<void(const watch::Alarm&)> on_alarm_;
  std::mutex mutex_;
  watch::Board board_;
  watch::AlarmLines lines_;
  std::unique_ptr<PageServer> page_;  // Last: its thread reads the board.
};

}  // namespace outpace::dashboard

// Asks a command of the user's every few seconds whether this machine is about to be taken away, as
// a cloud says of a spot instance, in a thread of its own. Exit code 0 means that the notice has
// come, and ends the watch; any other means not yet. A command that cannot be run, or that takes
// too long and is killed, is said once, and asked again.

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <sys/types.h>

namespace outpace::run {

class NoticeWatch {
 public:
  struct Options {
    std::string command;
    std::chrono::milliseconds every = std::chrono::seconds(2);  // Between two commands.
    std::chrono::milliseconds most = std::chrono::seconds(5);   // For one command.
  };
  // `came` and `said` are called on the watch's thread; `came` once.
  NoticeWatch(Options options,
              std::function<void()> came,
              std::function<void(const std::string&)> said);
  // Ends a command that still runs.
  ~NoticeWatch() = default;
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;

 private:
  void watch(const std::stop_token& stop);
  // The command's exit code; nothing if it did not end by itself.
  std::optional<int> run(const std::stop_token& stop);
  // False once the watch is to stop.
  bool wait(std::chrono::milliseconds time, const std::stop_token& stop);
  void say_once(const std::string& line);

  const Options options_;
  const std::function<void()> came_;
  const std::function<void(const std::string&)> said_;
  std::set<std::string> lines_;  // Said already; the thread's alone.
  std::mutex mutex_;             // For waiting alone.
  std::condition_variable_any changed_;
  std::jthread thread_;  // Last: it ends first.
};

}  // namespace outpace::run

// How a worker's process ends when it is told to, say by SIGTERM: within two seconds, and with as
// little lost as possible.
//
// First the worker finishes the partial gradient that it has, if the policy takes those, or hands
// its mini-batch back. After a second it hands back what it still has. After two it ends as it is,
// and the server notices that the connection is gone. A worker without a session has nothing to
// hand back, and ends at once.

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "worker/inbox.h"

namespace outpace::live {

class Leaving {
 public:
  struct Options {
    std::chrono::milliseconds to_finish_part{1000};
    std::chrono::milliseconds to_hand_back{800};
    std::function<void(int code)> end_as_it_is;  // Null: _exit().
  };
  Leaving() : Leaving(Options{}) {}
  explicit Leaving(Options options) : options_(std::move(options)) {}
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() = default;

  // From any thread: the process was sent this signal. Only the first counts.
  void ask(int signal);
  [[nodiscard]] bool asked() const;
  // The process's: 0 if it was told to terminate, else 128 + the signal.
  [[nodiscard]] int exit_code() const;

  // `give_up` is called, on any thread, with how the present mini-batch is to be given up; at once
  // if the process was told to end already. Null: there is no session any more.
  void on_ask(std::function<void(worker::CancelMode)> give_up);

 private:
  void run_out_of_time(const std::stop_token& stop);
  void tell() const;
  void end_as_it_is() const;

  const Options options_;
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  int signal_ = 0;  // 0: not asked.
  worker::CancelMode how_ = worker::CancelMode::kNone;
  std::function<void(worker::CancelMode)> give_up_;
  std::jthread clock_;  // Last: stops first.
};

}  // namespace outpace::live

// What a person sees while a run goes on: one line that redraws itself on a terminal, plain lines
// now and then elsewhere. Messages never tear the line. Standard output stays free for results.

#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "record/progress.h"

namespace outpace::run {

class Terminal {
 public:
  // Draws on standard error.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // On a terminal at most ten times a second, elsewhere every ten seconds; more calls cost nothing.
  void show(const record::Status& status);
  // A line that stays. From any thread.
  void say(const std::string& line);
  // A line of a child, as it is.
  void pass_on(const std::string& line);
  // Removes the progress line.
  void clear();

 private:
  void erase();

  const bool is_terminal_;
  std::mutex mutex_;  // The supervisor's thread speaks too.
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace outpace::run

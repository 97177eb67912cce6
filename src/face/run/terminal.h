// What a person sees while a run goes on: one line that redraws itself on a terminal, plain lines
// now and then elsewhere. Messages never tear the line. Standard output stays free for results.
//
// Nobody waits for who reads it (side_writer.h). Lines for which there is no room are left out, and
// the next one says how many.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "record/progress.h"
#include "run/side_writer.h"

namespace outpace::run {

class Terminal {
 public:
  // Draws on standard error.
  Terminal();
  // Waits a moment for the reader.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // On a terminal at most ten times a second, elsewhere every ten seconds; more calls cost nothing.
  void show(const record::Status& status);
  // The same, of a line that `line` makes for this width when there is need.
  void show(const std::function<std::string(std::size_t width)>& line);
  // A line that stays. From any thread.
  void say(const std::string& line);
  // A line of a child, as it is.
  void pass_on(const std::string& line);
  // Removes the progress line.
  void clear();
  // Waits for the reader, for this long if it takes nothing.
  void finish(std::chrono::milliseconds patience);
  // Whether much more can be passed on.
  [[nodiscard]] bool has_room() const;
  // Waits until there is room; false if the reader takes nothing for a moment.
  [[nodiscard]] bool wait_for_room();

 private:
  // A line that stays; what erases the progress line goes before it.
  void put(std::string line);

  const bool is_terminal_;
  std::mutex mutex_;  // The supervisor's thread speaks too.
  bool line_shown_ = false;
  std::uint64_t left_out_ = 0;  // Lines since the last one that was put.
  std::chrono::steady_clock::time_point next_{};
  SideWriter out_;
};

}  // namespace outpace::run

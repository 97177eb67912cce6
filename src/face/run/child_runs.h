// Runs this program many times as a child, several at a time. No child outlives this process, not
// even after Ctrl-C or if this process is killed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace outpace::run {

struct ChildRun {
  std::vector<std::string> words;  // After the program's name.
  std::string log;                 // What it says is appended to this file.
};

struct ChildRunEnd {
  std::size_t run;  // Index of the run.
  int code;         // Exit code, or 128 + the signal that killed it.
  std::string last_line;
  double seconds;  // How long the child ran.
};

struct ChildRunEvents {
  // In the thread that called run_children(), one at a time. `begun` may prepare what a run needs.
  std::function<void(std::size_t run)> begun;
  std::function<void(const ChildRunEnd& end)> ended;
};

// All runs in their order, `jobs` at a time. Returns 0, or the signal that interrupted it: what ran
// then was ended, and is not told. What an event throws ends all that run, and is passed on.
// REQUIRES: live::block_supervised_signals() was called; jobs > 0.
[[nodiscard]] int run_children(const std::vector<ChildRun>& runs,
                               std::uint32_t jobs,
                               const ChildRunEvents& events);

}  // namespace outpace::run

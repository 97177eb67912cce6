// One child process of a chaos run. It dies with this process, however this one dies.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace outpace::chaos_run {

struct Command {
  std::vector<std::string> words;                                // The first is a path.
  std::vector<std::pair<std::string, std::string>> variables{};  // Added to the environment.
  std::string log;  // Standard output and error go to this file, which is made or emptied.
};

class Process {
 public:
  // Starts it. Throws Error if that fails. REQUIRES: called on the main thread, which outlives it.
  explicit Process(const Command& command);
  // Kills and reaps it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }
  [[nodiscard]] bool running() const { return !code_; }
  // False if it has ended.
  bool send(int signal);
  // Looks whether it has ended; its exit code, or 128 + the signal that ended it, the first time
  // that it has.
  std::optional<int> collect();
  // No file of it can grow beyond this from now on; nothing: no limit. False if it has ended.
  bool limit_files(std::optional<std::uint64_t> bytes);

 private:
  pid_t id_ = 0;
  std::optional<int> code_;
};

// Resident memory in bytes; 0 if there is no such process.
[[nodiscard]] std::uint64_t resident_bytes(pid_t process);
// Processes, except zombies, with this text in their environment.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& mark);
// The last line that is not empty; empty if there is none.
[[nodiscard]] std::string last_line(const std::string& path);

}  // namespace outpace::chaos_run

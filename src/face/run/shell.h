// Starts a command that a user gave, by /bin/sh, in a process group of its own: with an empty
// standard input, no descriptor of this process, and the signals as a shell expects them.

#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace outpace::run {

enum class ShellOutput {
  kAsErrors,  // Both outputs where errors of this process go: its standard output may be JSON.
  kNone,
};

// The process, whose group has the same number; -1: it cannot be started.
[[nodiscard]] pid_t start_shell(const std::string& command,
                                std::vector<std::string> variables,
                                ShellOutput output);

// As a shell says it: 128 + the signal if one ended the process.
[[nodiscard]] int exit_code_of(int status);

}  // namespace outpace::run

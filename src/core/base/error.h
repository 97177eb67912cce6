// The world failed or the user erred: one line that says what, where, and what would be right.
//
// Thrown where input enters or a system call fails; caught at a connection (where it becomes an
// event) and in main(), which prints the line and exits with the code. A bug is a CHECK instead.

#pragma once

#include <stdexcept>
#include <string>

namespace outpace {

// The program's exit codes; docs/running.md lists them for users.
enum class ExitCode : int {
  kDone = 0,
  kFailure = 1,         // Anything that has no code of its own.
  kUsage = 2,           // Command line, configuration or input data.
  kAuthentication = 3,  // The token was refused.
  kIncompatible = 4,    // Another protocol version, or a network with another manifest.
  kTooFewWorkers = 5,
  kUnreadable = 6,      // A checkpoint or weights file.
  kWouldBeginAnew = 7,  // A server without a past, and workers that are further on.
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

[[nodiscard]] inline Error usage_error(const std::string& message) {
  return Error(ExitCode::kUsage, message);
}

}  // namespace outpace

// What the processes of a chaos run are: workers whose gradients are a ledger, an evaluator, and
// ballast on memory. Each but the last writes down what it sees (chaos/history.h).

#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace outpace::chaos_run {

struct RoleOptions {
  std::string role;  // "worker", "evaluator" or "ballast".
  std::string server;
  std::string token_file;
  std::string history;  // The file to write to.
  std::uint32_t worker = 0;
  std::uint64_t examples = 0;
  Duration mini_batch{};          // What one takes.
  Duration rejoin_for{};          // How long to look for a lost server.
  std::uint64_t ballast_mib = 0;  // What to take, and to keep until the process is killed.
};

// Is that process until the run is over; the exit code. Throws Error.
int play(const RoleOptions& options);

}  // namespace outpace::chaos_run

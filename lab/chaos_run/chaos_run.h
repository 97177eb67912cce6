// A chaos run: processes, faults by a plan, an end in order, and the verdict.
//
//   1. the job starts, and every worker has a gradient accepted
//   2. the plan's faults come
//   3. everything is healed, and every worker has a gradient accepted again
//   4. the server is told to end, and writes its last checkpoint
//   5. it goes on from there for one epoch more, in which a worker dies once more; each example
//      must then have been used exactly that often
//   6. no process may be left; the checker reads the history and the final weights

#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "chaos/checker.h"
#include "chaos/plan.h"

namespace outpace::chaos_run {

struct ChaosOptions {
  chaos::Plan plan;
  std::filesystem::path folder;                 // Made; must not exist, or be empty.
  std::string server;                           // The path of the program under test, `outpace`.
  std::string clock_library;                    // Empty: the plan has no clock jumps.
  std::function<void(const std::string&)> say;  // A line for people.
};

struct Outcome {
  chaos::Totals totals;
  std::vector<chaos::Broken> broken;
  double seconds = 0.0;
};

// Throws Error if the job cannot be started at all. REQUIRES: called on the main thread.
[[nodiscard]] Outcome run_chaos(const ChaosOptions& options);

// The verdict on a run whose folder was kept.
[[nodiscard]] Outcome check_again(const std::filesystem::path& folder);

// The path of libfaketime; empty if it is not installed.
[[nodiscard]] std::string find_clock_library();

}  // namespace outpace::chaos_run

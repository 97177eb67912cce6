// The command lines of the processes that `outpace train` starts, and their last words.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"

namespace outpace::cli {

inline constexpr std::uint32_t kEvaluatorRestartsMax = 3;

// Where a child finds the job.
struct JobPlace {
  std::string server;  // Its address.
  std::string token_file;
  std::uint64_t seed = 1;
};

// What every role is told.
[[nodiscard]] std::vector<std::string> role_words(const std::string& role,
                                                  const JobPlace& place,
                                                  const WorkOptions& work);
// `--worker-prefix`, in words, {worker} replaced by its number; empty if it is.
[[nodiscard]] std::vector<std::string> prefix_words(const std::string& prefix,
                                                    std::uint32_t worker);
// Appends what a worker is told of its pace.
void add_delay_words(const WorkOptions& work, std::vector<std::string>& words);

// The last line of a child that failed, without the program's name before it.
[[nodiscard]] std::string without_prefix(const std::string& line);

}  // namespace outpace::cli

// What `outpace fit` is told: the runtimes to fit a model to, and the file to write.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/option_list.h"

namespace outpace::job {

struct FitJob {
  std::vector<std::string> runtimes;  // Files.
  std::string model = "deep";
  std::string out;
  bool resume = false;
  std::uint32_t updates = 2000;
  std::uint64_t seed = 1;
};
void declare(OptionList& options, FitJob& job);

// Throws a usage error for a model that is not fitted beforehand.
void check(const FitJob& job);

}  // namespace outpace::job

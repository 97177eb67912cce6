// `outpace simulate --swarm`: seeds from a range, one random job each, until the range or the time
// is used up or one breaks an invariant.

#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace outpace::cli {

struct SwarmOptions {
  bool swarm = false;
  std::string seeds = "0..999";
  std::string time_budget = "0s";  // 0s: none.
  std::uint32_t jobs = 1;          // Seeds at a time.
  bool json = false;
};

// Throws a usage error that names the option, or an error with the seed that failed and the command
// that repeats it.
int run_swarm(const SwarmOptions& options);

}  // namespace outpace::cli

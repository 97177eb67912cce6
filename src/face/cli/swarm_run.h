// `outpace simulate --swarm`: seeds from a range, one random job each, until the range or the time
// is used up or one breaks an invariant.

#pragma once

#include "job/simulate_job.h"

namespace outpace::cli {

// Throws a usage error that names the option, or an error with the seed that failed and the command
// that repeats it.
int run_swarm(const job::Swarm& options, bool json);

}  // namespace outpace::cli

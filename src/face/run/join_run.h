// The life of `outpace join`: workers on this machine, of a run whose server is elsewhere.

#pragma once

#include "job/join_job.h"

namespace outpace::run {

// Until the run is over, or the workers have ended. Returns the exit code. Throws Error if the job
// cannot be joined.
[[nodiscard]] int join_run(const job::JoinJob& job);

}  // namespace outpace::run

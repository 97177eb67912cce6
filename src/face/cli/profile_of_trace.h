// `outpace profile --from-trace`: a profile from what PyTorch's profiler wrote, without a run.

#pragma once

#include "job/profile_job.h"

namespace outpace::cli {

// Writes the profile, and prints a summary. Gives the exit code. Throws a usage error for a wrong
// file. REQUIRES: check() of the job passed, and it names traces.
int profile_of_trace(const job::ProfileJob& job);

}  // namespace outpace::cli

// Measures a user's program as the only worker of a job: a script by the Python package, or a
// trainer by include/outpace.

#pragma once

#include "job/profile_job.h"
#include "run/profile_run.h"

namespace outpace::run {

// Throws Error if the job fails or the program does not join, and a usage error for a wrong
// command. REQUIRES: check() of the job passed, and it has a command.
[[nodiscard]] MeasuredWorker measure_script(const job::ProfileJob& job,
                                            const MeasurePeers& measure_peers);

}  // namespace outpace::run

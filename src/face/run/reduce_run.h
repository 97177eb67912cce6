// A machine whose workers hand in one gradient: its own server, which is one worker of the job, and
// its workers if it is to start them.

#pragma once

#include <string>

#include "job/reduce_job.h"
#include "run/run_recorder.h"
#include "run/worker_role.h"

namespace outpace::run {

// Until the job's run is over. `resolved`: the configuration, to keep. Throws Error if the machine
// does not take part.
[[nodiscard]] RunEnd reduce(const job::ReduceJob& job, const std::string& resolved);

// `outpace worker --reduce-here`: the workers are processes of this program. What the job does not
// say, the launcher's variables say. Throws as reduce() does.
[[nodiscard]] RunEnd reduce_workers(const job::WorkerJob& job,
                                    const WorkerOptions& options,
                                    const std::string& resolved);

}  // namespace outpace::run

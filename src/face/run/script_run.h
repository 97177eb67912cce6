// The life of `outpace run`: the server, and a user's command as the workers and the evaluator.

#pragma once

#include <optional>
#include <string>

#include "job/run_job.h"
#include "launch/train_part.h"
#include "run/run_recorder.h"

namespace outpace::run {

// The server, the evaluator if the script wants one, and the workers: all, or worker 0 alone if a
// launcher started the rest. `resolved`: the configuration, to keep. Throws Error if the run does
// not begin.
[[nodiscard]] RunEnd run_script(const job::RunJob& job,
                                const std::optional<launch::TrainPart>& part,
                                const std::string& resolved);

// What another process than the first of a launch does: it becomes its worker's command. Throws
// Error if it cannot.
[[noreturn]] void become_worker(const job::RunJob& job, const launch::TrainPart& part);

}  // namespace outpace::run

// The life of a run without a server: the host that keeps its record, and the workers of a ring or
// a gossip.

#pragma once

#include <string>

#include "job/live_job.h"
#include "run/learner.h"
#include "run/run_recorder.h"

namespace outpace::run {

// `resolved`: the configuration, to keep. Throws Error if the run does not begin. REQUIRES:
// fit_topology() passed, and the topology is not a server.
[[nodiscard]] RunEnd train_without_server(const job::TrainJob& job,
                                          const std::string& resolved,
                                          const Learner& learner);

}  // namespace outpace::run

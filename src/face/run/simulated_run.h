// The life of a run in virtual time.

#pragma once

#include <string>

#include "base/error.h"
#include "job/simulate_job.h"
#include "run/learner.h"
#include "run/simulated_record.h"
#include "simulation/simulation.h"

namespace outpace::run {

struct SimulatedRun {
  simulation::Result result;
  SimulatedEnd end;
  double wall_seconds;
};

// `resolved`: the configuration, to keep. Throws Error if the run does not begin; how it ended is
// in the result. Warnings go to standard error.
[[nodiscard]] SimulatedRun simulate(const job::SimulateJob& job,
                                    const std::string& resolved,
                                    const Learner& learner);

// Throws what simulate() would before it begins, without loading what is learnt from.
void check(const job::SimulateJob& job, const Learner& learner);

}  // namespace outpace::run

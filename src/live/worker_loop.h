// The main loop of a worker process: it takes releases and pushes gradients, at the pace of its
// delays.

#pragma once

#include <optional>

#include "live/lasting_session.h"
#include "worker/attack.h"
#include "worker/gradient_source.h"
#include "worker/pace.h"

namespace outpace::live {

// Works until the run is over, or until the process is told to end (`session.leaving`); then it
// leaves the job. Joins again when the connection is lost or the server took this worker for dead.
// Throws Error when that fails too. An attacker, if there is one, changes each gradient before it
// is pushed.
void run_worker(const WorkerOptions& options,
                worker::GradientSource& source,
                const worker::Pace& pace,
                std::optional<worker::Attacker> attacker = std::nullopt);

// The main loop of the evaluator: it measures snapshots until the run is over. If the connection is
// lost, it tries for `rejoin_for` to find the server again.
void run_evaluator(const SessionOptions& options,
                   worker::Evaluator& evaluator,
                   Duration rejoin_for = {});

}  // namespace outpace::live

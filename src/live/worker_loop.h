// The life of one worker process: releases in, gradients out, at the pace that its delays say.

#pragma once

#include <optional>

#include "live/lasting_session.h"
#include "worker/attack.h"
#include "worker/gradient_source.h"
#include "worker/pace.h"

namespace outpace::live {

// Works until the run is over. Joins again, as a newer incarnation, when the connection is lost or
// the server took this worker for dead. Throws Error when that fails too. An attacker has the last
// word on what is pushed.
void run_worker(const WorkerOptions& options,
                worker::GradientSource& source,
                const worker::Pace& pace,
                std::optional<worker::Attacker> attacker = std::nullopt);

// The life of the evaluator: snapshots in, measurements out, until the run is over.
void run_evaluator(const SessionOptions& options, worker::Evaluator& evaluator);

}  // namespace outpace::live

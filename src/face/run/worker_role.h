// What `outpace worker`, `peer` and `evaluator` do: one process of a job.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "job/live_job.h"
#include "launch/place.h"
#include "run/learner.h"
#include "run/terminal.h"
#include "worker/gradient_source.h"

namespace outpace::run {

// What computes the gradients of one worker of `workers`, or waits instead. Throws Error.
[[nodiscard]] std::unique_ptr<worker::GradientSource> make_source(const job::Work& work,
                                                                  std::uint32_t worker,
                                                                  std::uint32_t workers,
                                                                  std::uint64_t seed,
                                                                  const Learner& learner);

struct WorkerOptions {
  launch::Variables environment;
  bool token_may_come = false;  // The server may have yet to write the token's file.
};
// With what was not said as the launcher says it. Sets token_may_come if the launcher was asked.
[[nodiscard]] job::WorkerJob placed(job::WorkerJob job, WorkerOptions& options, Terminal& terminal);
// Works until the run is over, or leaves the job when the process is told to end. What the job does
// not say, the launcher's variables say. Throws Error. REQUIRES: no thread was started before.
void be_worker(job::WorkerJob job, const WorkerOptions& options, const Learner& learner);

// Measures until the run is over. Throws Error.
void be_evaluator(const job::EvaluatorJob& job, const Learner& learner);

}  // namespace outpace::run

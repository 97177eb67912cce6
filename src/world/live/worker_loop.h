// The main loop of a worker process: it takes releases and pushes gradients, at the pace of its
// delays.

#pragma once

#include <optional>

#include "live/lasting_session.h"
#include "worker/attack.h"
#include "worker/gradient_source.h"
#include "worker/pace.h"

namespace outpace::live {

// Is told what a worker does and hears, on the thread that computes: a history to audit.
class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  // A mini-batch was handed to this worker, over the connection of this welcome.
  virtual void released(const protocol::Welcome& welcome, const WorkerSession::Task& task) = 0;
  // Its gradient is about to be sent.
  virtual void pushes(const WorkerSession::Result& result) = 0;
  // Nothing: the connection or the run ended before the verdict came. Whether the gradient counts
  // is then unknown.
  virtual void judged(const std::optional<protocol::Verdict>& verdict) = 0;
};

// Works until the run is over, or until the process is told to end (`session.leaving`); then it
// leaves the job. Joins again when the connection is lost or the server took this worker for dead.
// Throws Error when that fails too. An attacker, if there is one, changes each gradient before it
// is pushed. `observer`: null if none.
void run_worker(const WorkerOptions& options,
                worker::GradientSource& source,
                const worker::Pace& pace,
                std::optional<worker::Attacker> attacker = std::nullopt,
                WorkerObserver* observer = nullptr);

// The main loop of the evaluator: it measures snapshots until the run is over. If the connection is
// lost, it tries for `rejoin_for` to find the server again.
void run_evaluator(const SessionOptions& options,
                   worker::Evaluator& evaluator,
                   Duration rejoin_for = {});

}  // namespace outpace::live

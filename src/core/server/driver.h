// What every driver of a coordinator does in the same way: the live server (live/server.h), the
// simulated cluster (sim/cluster.h), and the tests. All of them are this loop:
//
//   wait for an input: a message, a deadline, a measurement
//   coordinator.push(now, push, judgement, effects);   // or join(), leave(), abandon(), tick(),
//   ... carry_out(effects, shard, driver's functions);     // in order
//
// The three functions below are the parts that do not depend on how a driver waits and sends. The
// shard's effects are carried out here. All others are the driver's: it gives one function for each
// of them, and a driver that lacks one does not compile.

#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/overloaded.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "server/coordinator.h"
#include "server/effects.h"
#include "server/evaluations.h"
#include "server/shard.h"
#include "update/judgement.h"

namespace outpace::server {

// An arriving gradient, before the coordinator's push(): the shard holds it. It judges the gradient
// only if that answers its worker's open release, because the filter would learn something wrong
// from one that is late or comes twice. REQUIRES: gradient.size() == shard.weights().size();
// shard.why_not_without(push.without) is empty.
[[nodiscard]] inline update::Judgement receive(Shard& shard,
                                               const Coordinator& coordinator,
                                               const protocol::Push& push,
                                               std::vector<float> gradient,
                                               std::optional<double> squared_norm = {}) {
  if (!shard.hold(push.id.worker, std::move(gradient), squared_norm, push.without)) {
    return update::Judgement::kNotFinite;
  }
  return shard.judges() && coordinator.awaits(push.id)
             ? shard.judge(push.id.worker, coordinator.computing())
             : update::Judgement::kSound;
}

// The norms of an update's gradients, which the coordinator asked for with the step. The driver
// passes them on with measured_norms(), after the current effects.
struct MeasuredNorms {
  Version version;
  GradientNorms norms;
};

// Carries the effects out, in order. `shard` is null where gradients have no numbers. `driver` can
// be called with HandIn, Send, Disconnect, TakeSnapshot, TakeCheckpoint, Stalled, Switched,
// LeaveOut, Warn, Finish and MeasuredNorms, each of which it may change.
template <typename Driver>
void carry_out(Effects& effects, Shard* shard, const Driver& driver) {
  for (Effect& effect : effects) {
    std::visit(Overloaded{[&](Accept& accepted) {
                            if (shard != nullptr) {
                              shard->accept(accepted);
                            }
                          },
                          [&](Forget& forgotten) {
                            if (shard != nullptr) {
                              shard->forget(forgotten.worker);
                            }
                          },
                          [&](ForgetWorker& gone) {
                            if (shard != nullptr) {
                              shard->forget_worker(gone.worker);
                            }
                          },
                          [&](StepWeights& step) {
                            if (shard == nullptr) {
                              return;
                            }
                            shard->step(step);
                            if (step.norms_for && shard->norms().gradients > 0) {
                              driver(MeasuredNorms{*step.norms_for, shard->norms()});
                            }
                          },
                          [&](auto& other) { driver(other); }},
               effect);
  }
}

// A completed evaluation, for the policy; it may end the run.
inline void evaluated(Time now,
                      const Evaluation& evaluation,
                      const Evaluations& evaluations,
                      Coordinator& coordinator,
                      Effects& out) {
  if (evaluation.accuracy) {
    coordinator.measured(
        now, {policy::Measure::kTestAccuracy, *evaluation.accuracy, evaluation.version}, out);
  }
  if (evaluation.loss) {
    coordinator.measured(
        now, {policy::Measure::kTestLoss, *evaluation.loss, evaluation.version}, out);
  }
  if (evaluations.ends_run() && !coordinator.finished()) {
    coordinator.finish(now, ExitCode::kDone, "target accuracy reached", out);
  }
}

}  // namespace outpace::server

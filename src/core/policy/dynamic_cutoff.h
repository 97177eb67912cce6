// Synchronous with a cutoff of its own choosing: how long to wait is decided each iteration, by a
// model of the workers' runtimes.
//
// An update is the mean of the gradients that have arrived, computed on one version, when a
// runtime_model::Cutoff says that waiting longer is not worth it; by default it is asked again at
// every arrival and at ticks (decide=during). The workers that still compute then are told to stop,
// and all begin the next iteration. The model learns in the run. It sees the runtime of a worker
// that was cut off as censored, and as known if the late gradient comes after all. One that is cut
// off again and again is let finish now and then (runtime_model/probing.h).
//
// An arrival asks to be woken at once, and the question is asked then. So gradients that are at the
// server already, and have not been handled yet, are not cut off; nor is the question asked for
// each of them.
//
// Teng & Wood, "Bayesian Distributed Stochastic Gradient Descent" (NeurIPS 2018), for the cutoff
// that maximises gradients a second (decide=before); runtime_model/cutoff.h for the rest.
//
// What is maximised may be the loss's expected decrease a second, and not gradients, as in Xu,
// Neglia, Sebastianelli, "Dynamic Backup Workers for Parallel Machine Learning", 2020: then the
// server's norms of the gradients tell what an update of c is worth (runtime_model/worth.h). Until
// it has heard any, gradients count.
//
// As under `backup`: no update waits for a worker that is gone or was refused, and what comes from
// an older version is dropped. A worker that begins later than the others is expected later.
//
// Under local steps (hand_ins.h) who is cut off hands in its part, which counts and tells its pace.
// So none of its runtimes is censored and none is probed; waiting is worth what those that still
// compute do meanwhile (runtime_model/phase_stopping.h). For the parts it waits until the
// run would have done twice as much.
//
// The first mini-batches of each process are cold (warm_up.h) and teach nothing. Until something is
// known, all are waited for, but not much longer than half of them took; who has not come by then
// is not told to stop, because it may be compiling.
//
// At the end of the run there is no data left for some workers, and nobody is cut off any more:
// what would go back is a few examples, and an update of those alone moves the weights as far as
// one of a mini-batch of every worker. So all that still compute make one last update.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "policy/deferred_cutoff.h"
#include "policy/gradient_noise.h"
#include "policy/members.h"
#include "policy/policy.h"
#include "policy/warm_up.h"
#include "runtime_model/cutoff.h"
#include "runtime_model/probing.h"

namespace outpace::policy {

class DynamicCutoff final : public Policy {
 public:
  // `workers`: planned; others that join take part, but are not forecast. `noise`: what is
  // maximised is progress; nothing: gradients. `local_steps`: as PolicyInputs has it.
  DynamicCutoff(std::unique_ptr<runtime_model::RuntimeModel> model,
                runtime_model::Cutoff::Options options,
                std::uint32_t workers,
                std::optional<GradientNoise> noise = std::nullopt,
                std::uint32_t local_steps = 0);

  void decide(Time now, const Event& event, Decision& out) override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return workers;
  }
  [[nodiscard]] bool cuts_off() const override { return true; }
  [[nodiscard]] std::optional<double> patience() const override { return patience_; }
  void held(Duration time) override { cutoff_.held(to_seconds(time)); }
  [[nodiscard]] bool asks_for_norms() const override { return noise_.has_value(); }
  [[nodiscard]] bool outlook(Outlook& out) const override { return cutoff_.outlook(out); }
  void keep(Archive& archive) override;

 private:
  struct Worker {
    bool computing = false;
    std::uint64_t version = 0;  // At its last release.
    Time released{};
    std::optional<Time> cancelled{};
    bool seen_longer = false;  // The model was told that its runtime is longer.
    // The rest outlasts a release.
    double gives_up_after = 0.0;  // Seconds from a cancellation to its end: a moving average.
    runtime_model::Probing probing{};
  };

  void join(const WorkerJoined& event, Decision& out);
  void leave(const WorkerLeft& event, Decision& out);
  void hear(const Measured& event);
  void arrive(const GradientArrived& event, Decision& out);
  void end(const ReleaseEnded& event, Decision& out);
  // One that was cut off has handed in its part.
  void hear_part(const ReleaseEnded& event, Worker& state);
  void release(WorkerId worker, Worker& state, Decision& out);
  // Commits or starts again if nothing is left to wait for; else asks to be woken at once.
  void settle(Decision& out);
  // Asks whether to go on waiting.
  void look(Decision& out);
  // Sets out_.
  void find_waited_for();
  // Nobody has answered in this iteration: starts again if nobody will.
  void start_again(Decision& out);
  void tell_to_stop(WorkerId worker, Worker& state, Decision& out);
  void observe_longer(WorkerId worker, Worker& state);
  // `cuts_off`: the workers that still compute are told to stop.
  void commit(bool cuts_off, Decision& out);
  // Nobody will answer in this iteration any more.
  [[nodiscard]] bool nobody_answers();
  // Since the iteration began.
  [[nodiscard]] double seconds() const { return to_seconds(now_ - begun_); }

  DeferredCutoff cutoff_;
  std::optional<GradientNoise> noise_;
  WarmUp warm_up_;
  std::uint32_t last_count_ = 0;  // Gradients of the last commit.
  Members<Worker> workers_;
  Time now_{};
  std::uint64_t version_ = 0;
  std::uint32_t accepted_ = 0;      // In this iteration.
  std::uint32_t computing_ = 0;     // On whatever version: each can still answer in this iteration.
  Time begun_{};                    // The iteration.
  bool drains_ = false;             // There is no data left for some worker.
  std::optional<double> patience_;  // As patience() says.
  std::vector<std::uint32_t> out_;  // Workers that are waited for; kept for its memory.
};

}  // namespace outpace::policy

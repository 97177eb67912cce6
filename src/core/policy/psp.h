// Probabilistic synchronous parallel: at the end of an iteration a worker looks at some of the
// others, drawn at random, and waits while any of them is more than s iterations behind it.
//
//   worker w may start its next iteration  iff  c_w - c_v <= s for all v of a sample of size beta
//
// Wang, Catterall, Mortier, "Probabilistic Synchronous Parallel" (2017); pBSP is s = 0, pSSP s > 0.
// beta = 0 is async; beta = all is ssp:s, decision by decision, while nobody joins. Nobody needs to
// know all clocks. The sample is drawn once for each iteration, without replacement, from the live.
//
// As under SSP an iteration is also over if its gradient was refused or given up; a joiner starts
// at the least clock of the live; nobody waits for one that is gone.

#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "policy/by_event.h"
#include "policy/members.h"

namespace outpace::policy {

class Psp final : public ByEvent {
 public:
  struct Options {
    std::uint64_t beta;   // The size of a sample.
    std::uint64_t slack;  // The paper's s.
    std::uint64_t seed;   // For the samples.
  };

  explicit Psp(Options options) : options_(options), rng_(options.seed, 0) {}

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  void keep(Archive& archive) override {
    archive("rng", rng_)("version", version_)("waits", waits_);
  }

 private:
  struct Worker {
    std::uint64_t clock = 0;
    std::uint64_t version = 0;    // At its last release.
    std::uint64_t wait = 0;       // Which one it is in; 0: none.
    std::uint32_t waits_for = 0;  // How many of its sample are too far behind.
  };
  // A worker that waits for another one in its sample, until that one's clock is `until`.
  struct Waiter {
    WorkerId worker;
    std::uint64_t wait;  // An ended wait is no longer the worker's.
    std::uint64_t until;
  };

  void join(const WorkerJoined& event, Decision& out) override;
  void leave(const WorkerLeft& event, Decision& out) override;
  void arrive(Time now, const GradientArrived& event, Decision& out) override;
  void end(Time now, const ReleaseEnded& event, Decision& out) override;
  // The worker's iteration is over: those that waited for it may go on, and then perhaps itself.
  void finish(WorkerId worker, Decision& out);
  // Lets go who waits for nobody else, of those who waited until `clock` or less.
  void let_go(WorkerId worker, std::uint64_t clock, Decision& out);
  void wait_for_sample(WorkerId worker, Worker& state);
  void release(WorkerId worker, Worker& state, Decision& out);

  // Constant after construction.
  const Options options_;

  Rng rng_;
  Members<Worker> workers_;
  std::vector<WorkerId> live_;                // In any order: a sample is drawn from the front.
  std::vector<std::vector<Waiter>> waiters_;  // By the worker that they wait for.
  std::vector<WorkerId> freed_;               // Kept for its memory.
  std::uint64_t version_ = 0;                 // Commits so far.
  std::uint64_t waits_ = 0;                   // So far.
};

}  // namespace outpace::policy

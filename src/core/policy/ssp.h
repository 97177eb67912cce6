// Stale synchronous parallel: asynchronous, but the fastest is at most s iterations ahead.
//
//   worker w may start its next iteration  iff  c_w - min over the live of c <= s
//
// where c_w, its clock, counts the iterations it has finished. Ho et al., "More Effective
// Distributed ML via a Stale Synchronous Parallel Parameter Server" (NIPS 2013), section 2. s = 0
// runs in step with the slowest; a large s is async. It bounds iterations, not versions: while the
// N workers stay the same, tau <= (N - 1) * (2s + 1).
//
// An iteration is finished also if its gradient was refused or abandoned: a clock that stood still
// would hold everybody. A joiner's clock starts at the least of the live, and the dead have none.

#pragma once

#include <cstdint>

#include "policy/by_event.h"
#include "policy/members.h"

namespace outpace::policy {

class Ssp : public ByEvent {
 public:
  struct Options {
    std::uint64_t slack;  // The paper's s.
  };

  explicit Ssp(Options options) : options_(options) {}

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  void prepare(WorkerId worker) const final { workers_.prepare(worker); }
  void keep(Archive& archive) final { archive("version", version_); }

 private:
  // For a rule that follows the workers' pace: a worker is live, with this clock; it is gone; its
  // iteration is over, and its clock one more. `runtime` is 0 if there is no gradient.
  virtual void follow(WorkerId /*worker*/, std::uint64_t /*clock*/) {}
  virtual void unfollow(WorkerId /*worker*/) {}
  virtual void finished(Time /*now*/, WorkerId /*worker*/, Duration /*runtime*/) {}
  // How far ahead one may be that is more than s ahead; s or more.
  [[nodiscard]] virtual std::uint64_t slack_of(WorkerId /*worker*/) { return options_.slack; }

  struct Worker {
    std::uint64_t clock = 0;
    std::uint64_t slack = 0;    // How far ahead it may be to be let go, if it is held.
    std::uint64_t version = 0;  // At its last release.
    bool held = false;
  };

  void join(const WorkerJoined& event, Decision& out) override;
  void leave(const WorkerLeft& event, Decision& out) override;
  void arrive(Time now, const GradientArrived& event, Decision& out) override;
  void end(Time now, const ReleaseEnded& event, Decision& out) override;
  // The worker's iteration is over: its clock moves, and with it perhaps the least one.
  void finish(Time now, WorkerId worker, Duration runtime, Decision& out);
  // One worker at the least clock is there no more. If it was the last, the least clock rises and
  // the held that are near enough go on.
  void leave_least(Decision& out);
  void release(WorkerId worker, Worker& state, Decision& out);

  // Constant after construction.
  const Options options_;

  Members<Worker> workers_;
  std::uint64_t version_ = 0;   // Commits so far.
  std::uint64_t least_ = 0;     // The least clock of the live; 0 if there are none.
  std::uint32_t at_least_ = 0;  // How many have it. All clocks are read again only when none has.
};

}  // namespace outpace::policy

// The rule that async, kbatchasync and softsync share: an update is the next c gradients to arrive,
// and nobody waits.
//
//   w(i+1) = w(i) - 1/c * sum over k = 1..c of alpha(tau_k) * g_k
//
// A fast worker may be in one update more than once. With N workers the mean of tau is
// (N - 1) / c, whatever the runtimes are: each update makes the N - 1 that compute one staler.

#pragma once

#include <cstdint>

#include "policy/by_event.h"
#include "policy/members.h"

namespace outpace::policy {

// c is nominal_cutoff() of the live.
class FirstCome : public ByEvent {
 public:
  void prepare(WorkerId worker) const final { workers_.prepare(worker); }
  void keep(Archive& archive) override { archive("version", version_); }

 private:
  struct Worker {
    std::uint64_t version = 0;  // At its last release.
  };

  void join(const WorkerJoined& event, Decision& out) override;
  void leave(const WorkerLeft& event, Decision& out) override;
  void arrive(Time now, const GradientArrived& event, Decision& out) override;
  void end(Time now, const ReleaseEnded& event, Decision& out) override;
  void release(WorkerId id, Worker& worker, Decision& out);
  // Says whether it did. Membership may change the cutoff, so that a departure may commit what had
  // been waiting.
  bool commit_if_full(std::uint32_t cutoff, Decision& out);

  Members<Worker> workers_;
  std::uint64_t version_ = 0;   // Commits so far.
  std::uint32_t accepted_ = 0;  // Since the last commit.
};

}  // namespace outpace::policy

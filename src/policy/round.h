// The rule that sync and backup share: an update is the first c gradients computed on one version.
//
// A round is a version. All compute on it; at the c-th gradient the weights move, whoever still
// computes is told to stop, and all begin the next round. What comes from an older round is
// dropped, and its worker joins the present one at once.
//
//   c = min(cutoff, taken up + can still come)
//
// so that nobody waits for a worker that is gone, or whose gradient was refused. A worker that was
// refused has answered: it sits out, or its mini-batch could be refused for ever within one round.

#pragma once

#include <cstdint>

#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

class Round {
 public:
  // REQUIRES: cutoff >= 1.
  explicit Round(std::uint32_t cutoff);

  void decide(const Event& event, Decision& out);

 private:
  struct Worker {
    bool computing = false;
    std::uint64_t version = 0;  // At its last release.
  };

  void join(const WorkerJoined& event, Decision& out);
  void leave(const WorkerLeft& event, Decision& out);
  void arrive(const GradientArrived& event, Decision& out);
  void end(const ReleaseEnded& event, Decision& out);
  void release(WorkerId worker, Worker& state, Decision& out);
  // Commits, or starts the round again, if nothing is left to wait for.
  void settle(Decision& out);
  void commit(Decision& out);
  [[nodiscard]] std::uint32_t cutoff() const;

  // Constant after construction.
  const std::uint32_t cutoff_;

  Members<Worker> workers_;
  std::uint64_t version_ = 0;    // Commits so far.
  std::uint32_t accepted_ = 0;   // In this round, also from workers that left since.
  std::uint32_t computing_ = 0;  // On whatever version: each can still answer in this round.
};

}  // namespace outpace::policy

// The rule that sync, backup and kbatchsync share: an update is the first c gradients computed on
// one version.
//
// A round is a version. All workers compute on it. At the c-th gradient the weights move, workers
// that still compute are told to stop, and all begin the next round. A gradient from an older round
// is dropped, and its worker joins the present round at once.
//
//   c = min(cutoff, taken up + can still come)
//
// so that nobody waits for a worker that is gone, or whose gradient was refused. A worker that was
// refused has answered: it sits out, or its mini-batch could be refused for ever within one round.
// Where a worker may answer again, it computes another mini-batch on the same version until there
// are c, and c is what it is as long as anybody can answer.

#pragma once

#include <cstdint>

#include "policy/by_event.h"
#include "policy/members.h"

namespace outpace::policy {

enum class Answers : std::uint8_t { kOnce, kAgain };  // How often a worker answers in a round.

class Round : public ByEvent {
 public:
  // REQUIRES: cutoff >= 1.
  explicit Round(std::uint32_t cutoff, Answers answers = Answers::kOnce);

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  [[nodiscard]] bool cuts_off() const final { return true; }
  void prepare(WorkerId worker) const final { workers_.prepare(worker); }
  void keep(Archive& archive) final { archive("cutoff", cutoff_)("version", version_); }
  // From the next event on. REQUIRES: cutoff >= 1.
  void set_cutoff(std::uint32_t cutoff);

 private:
  struct Worker {
    bool computing = false;
    std::uint64_t version = 0;  // At its last release.
  };

  void join(const WorkerJoined& event, Decision& out) override;
  void leave(const WorkerLeft& event, Decision& out) override;
  void arrive(Time now, const GradientArrived& event, Decision& out) override;
  void end(Time now, const ReleaseEnded& event, Decision& out) override;
  void release(WorkerId worker, Worker& state, Decision& out);
  // Commits, or starts the round again, if nothing is left to wait for.
  void settle(Decision& out);
  void commit(Decision& out);
  [[nodiscard]] std::uint32_t cutoff() const;

  // Constant after construction.
  const Answers answers_;

  std::uint32_t cutoff_;
  Members<Worker> workers_;
  std::uint64_t version_ = 0;    // Commits so far.
  std::uint32_t accepted_ = 0;   // In this round, also from workers that left since.
  std::uint32_t computing_ = 0;  // On whatever version: each can still answer in this round.
};

}  // namespace outpace::policy

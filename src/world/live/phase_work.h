// A live worker's phases of local steps (update/local_phase.h). With steps ahead it computes on
// while its push and the next weights travel, with the examples that the next phase will have.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "live/computing.h"
#include "update/local_phase.h"

namespace outpace::live {

class PhaseWork {
 public:
  PhaseWork(Computing& computing, bool steps_ahead)
      : computing_(computing), steps_ahead_(steps_ahead) {}

  // Local steps, a mini-batch each, until the lease is used or the server asks for what there is;
  // then their push. False if there is nothing to push: the task was given up.
  bool answer(LastingSession::Task& task);

 private:
  // Steps that were made before their phase was released.
  struct Ahead {
    std::vector<std::uint64_t> examples;
    std::uint32_t nominal;
    double compute_seconds;
  };

  [[nodiscard]] WorkerSession& session() { return computing_.session(); }
  // What has been done of this phase before; the phase goes on from there.
  WorkerSession::Result begin(const LastingSession::Task& task);
  // Makes steps from `result` on, until `goes_on` is false, all is done or the task is given up.
  template <typename GoesOn>
  void steps(const protocol::Release& release,
             const protocol::Ranges& ranges,
             std::span<const std::uint64_t> examples,
             WorkerSession::Result& result,
             const GoesOn& goes_on);
  // False if it was given up.
  bool step(double rate, std::span<const std::uint64_t> batch, WorkerSession::Result& result);
  [[nodiscard]] bool may_go_ahead(const LastingSession::Task& task);
  // Makes steps of the next phase until its weights are there.
  void go_ahead(const LastingSession::Task& task);
  // `at`: the version of its release.
  update::LocalPhase& phase(Version at);
  void judged(const std::optional<protocol::Verdict>& verdict, Version at);

  Computing& computing_;
  const bool steps_ahead_;
  std::optional<update::LocalPhase> phase_;  // Its optimizer lasts from phase to phase.
  std::optional<Ahead> ahead_;
};

}  // namespace outpace::live

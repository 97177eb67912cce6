// A worker's own state, kept in a folder: what its optimizer of local steps remembers, and what
// packing its pushes left behind. A process that is started again goes on with it. Each is a
// checkpoint (checkpoint/checkpoint.h):
//
//   FOLDER/worker-3/g0001-u000000001000/                 the newest
//   FOLDER/at-checkpoints/worker-3/g0001-u000000000960/  as it was at the server's last two
//
// If the whole job died, its server goes back to a checkpoint, and its workers to theirs of the
// same version: the run goes on as it would have.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/ids.h"
#include "live/own_state.h"
#include "protocol/messages.h"

namespace outpace::run {

// Where the workers of a run on this machine have their states at checkpoints: a folder of each.
[[nodiscard]] std::filesystem::path kept_states(const std::filesystem::path& run);

class WorkerState {
 public:
  // `say` hears, once, that the disk refuses: training goes on without.
  WorkerState(const std::filesystem::path& folder,
              std::uint32_t worker,
              std::function<void(const std::string&)> say);

  using When = live::StateKeeper::When;

  // After a push, unless the last time was a short while ago; at the server's checkpoints always.
  // What the folder has of another job goes.
  void keep(const protocol::Welcome& welcome,
            Version version,
            When when,
            const live::OwnState& state);
  // As live::StateKeeper has it. Throws Error(kUnreadable) if it is damaged, or of another
  // optimizer or network.
  [[nodiscard]] std::optional<Version> take_up(const protocol::Welcome& welcome,
                                               Version at,
                                               const live::OwnState& state) const;

 private:
  using Clock = std::chrono::steady_clock;

  void write(const protocol::Welcome& welcome,
             Version version,
             When when,
             const live::OwnState& state);

  std::filesystem::path newest_;          // After a push.
  std::filesystem::path at_checkpoints_;  // The server's.
  std::function<void(const std::string&)> say_;
  std::optional<std::uint64_t> job_;  // Whose the folders are, once that was looked at.
  Clock::time_point due_{};
  bool failed_ = false;
};

}  // namespace outpace::run

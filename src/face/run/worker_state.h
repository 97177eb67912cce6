// A worker's own state, kept in a folder: what its optimizer of local steps remembers, and what
// packing its pushes left behind. A process that is started again goes on with it. Each is a
// checkpoint (checkpoint/checkpoint.h):
//
//   FOLDER/worker-3/g0001-u000000001000/

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

class WorkerState {
 public:
  // `say` hears, once, that the disk refuses: training goes on without.
  WorkerState(const std::filesystem::path& folder,
              std::uint32_t worker,
              std::function<void(const std::string&)> say);

  // After a push at this version, unless the last time was a short while ago. What the folder has
  // of another job goes.
  void keep(const protocol::Welcome& welcome, Version version, const live::OwnState& state);
  // The version that the state was kept at; nothing if none of this job was. Throws
  // Error(kUnreadable) if it is damaged, or of another optimizer or network.
  [[nodiscard]] std::optional<Version> take_up(const protocol::Welcome& welcome,
                                               const live::OwnState& state) const;

 private:
  using Clock = std::chrono::steady_clock;

  void write(const protocol::Welcome& welcome, Version version, const live::OwnState& state);

  std::filesystem::path folder_;
  std::function<void(const std::string&)> say_;
  std::optional<std::uint64_t> job_;  // Whose the folder is, once that was looked at.
  Clock::time_point due_{};
  bool failed_ = false;
};

}  // namespace outpace::run

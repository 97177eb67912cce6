// A run's directory, from which a new server goes on.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/archive.h"
#include "checkpoint/checkpoint.h"
#include "record/decision_log.h"

namespace outpace::run {

// What a server that goes on with a run knows of those before it.
struct Resumed {
  record::GoesOn from;
  std::string policy;    // The one in force.
  std::string policies;  // All that were, for titles.
  std::string page;      // What it showed (watch::Board::remember()); empty: not known.
};
[[nodiscard]] Resumed resumed_of(const checkpoint::Checkpoint& found);
// A recorder's part of a checkpoint, for resumed_of().
void keep_for_resume(Archive& archive, std::string policies, std::string page);

// The newest checkpoint that is whole, for the next generation; nothing if the run died before its
// first, or if they are gone and `begin_again` takes that. `say` hears of what is taken, and of
// damaged ones. Throws Error if the run is over, if its checkpoints are gone, or if all of them are
// damaged.
[[nodiscard]] std::optional<checkpoint::Checkpoint> read_to_resume(
    const std::string& run, bool begin_again, const std::function<void(const std::string&)>& say);

// Where the run's last server listened, if `listen` leaves the port or all of it to the system.
[[nodiscard]] std::string listen_again(const std::string& run, const std::string& listen);

}  // namespace outpace::run

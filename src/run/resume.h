// A run's directory, from which a new server goes on.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"

namespace outpace::run {

// The newest checkpoint that is whole, for the next generation; nothing if the run died before it
// began. `say` hears of what is taken, and of damaged ones. Throws Error if the run is over, or all
// of its checkpoints are damaged.
[[nodiscard]] std::optional<checkpoint::Checkpoint> read_to_resume(
    const std::string& run, const std::function<void(const std::string&)>& say);

// Where the run's last server listened, if `listen` leaves the port or all of it to the system.
[[nodiscard]] std::string listen_again(const std::string& run, const std::string& listen);

}  // namespace outpace::run

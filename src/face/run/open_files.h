// How many files this process may have open: every connection of a server is one.

#pragma once

#include <cstdint>
#include <optional>

namespace outpace::run {

// The open files of a server with this many workers: `least` to serve them at all, `most` with a
// flood of strangers and people who look at its page.
struct OpenFiles {
  std::uint64_t least;
  std::uint64_t most;
};
[[nodiscard]] OpenFiles open_files_of(std::uint32_t workers);

// The limit to ask the system for; nothing if that of now is enough. Throws a usage error if the
// system allows too few.
[[nodiscard]] std::optional<std::uint64_t> limit_for(std::uint32_t workers,
                                                     std::uint64_t soft,
                                                     std::uint64_t hard);
// Sees to it that this process may open enough for this many workers, or throws as above. Children
// inherit the limit, so it is raised no further than that.
void allow_open_files(std::uint32_t workers);

}  // namespace outpace::run

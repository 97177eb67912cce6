// The newest decisions of a recorded run, for a trace of them: the log is read from near its end.

#pragma once

#include <cstdint>
#include <filesystem>

#include "base/ids.h"
#include "policy/recent_decisions.h"

namespace outpace::record {

// `version`: of the run's end. None if there is no log. Throws a usage error if a line is wrong.
// `bytes`: of the log that are read; a line has some 300.
[[nodiscard]] policy::RecentDecisions::Parts recent_of_log(
    const std::filesystem::path& decisions,
    Version version,
    std::uint64_t bytes = 400 * std::uint64_t{policy::RecentDecisions::kMost});

}  // namespace outpace::record

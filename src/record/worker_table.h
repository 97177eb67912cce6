// What a person reads when a run is over: a few lines of result, and a table of the workers that
// names the slow ones. At most 100 columns wide, no colours.

#pragma once

#include <cstddef>
#include <string>

#include "record/summary.h"

namespace outpace::record {

// Beyond so many workers only the slowest are listed; --json lists all.
inline constexpr std::size_t kRowsMax = 32;

// The result alone, some five lines.
[[nodiscard]] std::string headline(const Summary& summary);
// headline() and the table below it. Ends with a newline.
[[nodiscard]] std::string worker_table(const Summary& summary);

}  // namespace outpace::record

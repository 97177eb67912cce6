// A run's result for people: a few lines, then a table of the workers that marks the slow ones. At
// most 100 columns wide, without colours.

#pragma once

#include <cstddef>
#include <string>

#include "record/summary.h"

namespace outpace::record {

// With more workers, only the slowest are listed; --json lists all.
inline constexpr std::size_t kRowsMax = 32;

// Only the result, in about five lines.
[[nodiscard]] std::string headline(const Summary& summary);
// headline() and the table, ending with a newline.
[[nodiscard]] std::string worker_table(const Summary& summary);

}  // namespace outpace::record

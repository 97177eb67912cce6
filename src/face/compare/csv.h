// A comparison for programs, as CSV (RFC 4180): a header, and lines that end with \n. Unknown
// values are empty.

#pragma once

#include <string>
#include <vector>

#include "compare/row_summary.h"
#include "compare/run_list.h"

namespace outpace::compare {

// One row per cell.
[[nodiscard]] std::string runs_csv(const Config& config,
                                   const std::vector<Cell>& cells,
                                   const std::vector<Outcome>& outcomes);

// One row per trace and policy. Each mean comes with its n and half_width.
[[nodiscard]] std::string summary_csv(const Config& config, const std::vector<Summary>& summaries);

}  // namespace outpace::compare

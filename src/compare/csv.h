// A comparison for programs: RFC 4180, a head and lines that end with \n; what is unknown is empty.

#pragma once

#include <string>
#include <vector>

#include "compare/row_summary.h"
#include "compare/run_list.h"

namespace outpace::compare {

// A row a cell.
[[nodiscard]] std::string runs_csv(const Config& config,
                                   const std::vector<Cell>& cells,
                                   const std::vector<Outcome>& outcomes);

// A row a trace and policy; of each mean its n and half_width too.
[[nodiscard]] std::string summary_csv(const Config& config, const std::vector<Summary>& summaries);

}  // namespace outpace::compare

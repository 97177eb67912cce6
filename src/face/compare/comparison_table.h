// A comparison as people read it: a table for each trace, and why what failed did.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/row_summary.h"
#include "compare/run_list.h"

namespace outpace::compare {

// Lines of text. Times are the run's own: virtual ones if it was simulated.
[[nodiscard]] std::string tables_of(const Config& config, const std::vector<Summary>& summaries);

// A line for each cell without a result, with its reason; empty if there is none.
[[nodiscard]] std::string failures_of(const Config& config,
                                      const std::vector<Cell>& cells,
                                      const std::vector<Outcome>& outcomes);

// The accuracy that ends a run, if it is the same for all rows.
[[nodiscard]] std::optional<double> target_of(const Config& config);

}  // namespace outpace::compare

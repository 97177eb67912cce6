// Accuracy against time as a picture: a panel a trace, a line a row, its runs' spread behind it.

#pragma once

#include <string>
#include <vector>

#include "compare/row_summary.h"
#include "compare/run_list.h"

namespace outpace::compare {

// An SVG document. All panels have the same accuracies (%), each its own times (s). The legend
// names the rows that any run was evaluated of.
[[nodiscard]] std::string plot_of(const Config& config,
                                  const std::vector<Cell>& cells,
                                  const std::vector<Outcome>& outcomes);

}  // namespace outpace::compare

// A picture of accuracy against time: a panel for each trace, a line for each row, and the spread
// of its runs behind it. A panel has at most kGroupRowsMost rows in colour, a group; all others are
// grey. Each group has its own panels.

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

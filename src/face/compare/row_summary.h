// Summarises the seeds of one row under one trace.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare/config.h"
#include "compare/run_list.h"
#include "compare/run_record.h"
#include "compare/seed_statistics.h"

namespace outpace::compare {

// How a cell ended: with a result, or the reason why there is none.
struct Outcome {
  std::optional<RunResult> result;
  std::string failure;  // One line; empty if there is a result.
};

// Means over the finished runs, in the units of RunResult; nothing if no run measured the value.
struct Summary {
  std::size_t row;
  std::size_t trace;
  std::size_t seeds = 0;     // Planned.
  std::size_t finished = 0;  // How many of the planned seeds; the others failed.
  std::size_t reached = 0;   // Finished runs that reached the target.
  std::string failure;       // The first; empty if none failed.
  std::optional<Mean> examples_per_second;
  std::optional<Mean> seconds_to_target;  // Over the runs that reached it.
  std::optional<Mean> final_accuracy;
  std::optional<Mean> staleness_mean;
  std::optional<double> staleness_max;  // Over all runs.
  std::optional<Mean> dropped;
  std::optional<Mean> fairness;
};

// One summary per trace and row, trace by trace, in the order of the configuration. REQUIRES: one
// outcome per cell of cells_of(config), in their order.
[[nodiscard]] std::vector<Summary> summaries_of(const Config& config,
                                                const std::vector<Cell>& cells,
                                                const std::vector<Outcome>& outcomes);

}  // namespace outpace::compare

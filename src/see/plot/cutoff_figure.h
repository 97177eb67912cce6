// A trial of a cutoff as a figure: what it forecast and did, next to the oracle.

#pragma once

#include <cstddef>
#include <optional>

#include "plot/cutoff_plot.h"
#include "runtime_model/trial.h"

namespace outpace::plot {

// Without the oracle's stop.
[[nodiscard]] CutoffIteration to_iteration(const runtime_model::TrialView& view);

// Index of the iteration at which the window begins: this row of the trace, or without one the row
// for which the window ends with the last. Throws a usage error that names --plot-from if that row
// is not judged.
[[nodiscard]] std::size_t window_from(std::optional<std::size_t> row,
                                      std::size_t first_row,
                                      std::size_t iterations);

}  // namespace outpace::plot

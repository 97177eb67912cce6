// A trial of a cutoff as a figure: what it foretold and did, beside the oracle.

#pragma once

#include <cstddef>
#include <optional>

#include "plot/cutoff_plot.h"
#include "runtime_model/trial.h"

namespace outpace::plot {

// The oracle's stop is not in it.
[[nodiscard]] CutoffIteration to_iteration(const runtime_model::TrialView& view);

// Where the window begins: with this row of the trace or, if there is none, so that it ends with
// the last. Throws a usage error that names --plot-from if that row is not judged.
[[nodiscard]] std::size_t window_from(std::optional<std::size_t> row,
                                      std::size_t first_row,
                                      std::size_t iterations);

}  // namespace outpace::plot

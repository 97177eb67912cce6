// A recorded iteration, in which all workers arrived, as a server would have seen it that ended it
// earlier.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::fit {

// The observations of a server that waits for `count` gradients.
[[nodiscard]] std::vector<runtime_model::Observation> cut_off(std::span<const double> row,
                                                              std::size_t count);
// Number of workers that arrive within `after` log seconds of the fastest quarter.
[[nodiscard]] std::size_t count_by(std::span<const double> row, double after);
// The count c with the most gradients per second, c / x_(c).
[[nodiscard]] std::size_t best_count(std::span<const double> row);

}  // namespace outpace::fit

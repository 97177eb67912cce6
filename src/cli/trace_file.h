// A table of runtimes as `outpace cutoff` and `outpace fit` take it: a run's runtimes.csv.

#pragma once

#include <string>

#include "runtime_model/trial.h"

namespace outpace::cli {

// Throws a usage error that names the file and the row if it is anything but positive seconds, as
// many in each row, two rows at least.
[[nodiscard]] runtime_model::Trace read_trace(const std::string& path);

// The first rows of it. REQUIRES: 1 <= rows <= trace.rows().
[[nodiscard]] runtime_model::Trace first_rows(const runtime_model::Trace& trace, std::size_t rows);

}  // namespace outpace::cli

// Reads a table of runtimes, such as a run's runtimes.csv, for `outpace cutoff` and `outpace fit`.

#pragma once

#include <string>
#include <string_view>

#include "runtime_model/trial.h"

namespace outpace::record {

// Throws a usage error that begins with `name` and says which row is wrong: each has the same
// number of positive seconds, and there are at least two.
[[nodiscard]] runtime_model::Trace parse_runtimes(std::string_view text, const std::string& name);

}  // namespace outpace::record

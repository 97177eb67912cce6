// Reads a run's directory for `outpace whatif`.

#pragma once

#include <string>

#include "record/recorded_run.h"

namespace outpace::record {

// decisions.jsonl has all but processor time and communication, so the record of a run that was
// killed will do; those two are in summary.json and config.toml. Throws a usage error that names
// the file if one of them is not what a run writes.
[[nodiscard]] FoundRun read_recorded_run(const std::string& directory);

// The gradient's noise scale, in examples, which the run's summary has. Throws a usage error that
// names the file if it has none.
[[nodiscard]] double read_noise_scale(const std::string& directory);

}  // namespace outpace::record

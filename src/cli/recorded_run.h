// Reads a run's directory for `outpace whatif`.

#pragma once

#include <string>
#include <vector>

#include "throughput/recorded_run.h"

namespace outpace::cli {

struct FoundRun {
  throughput::RecordedRun run;
  std::vector<std::string> notes;  // What the record cannot tell, in words.
};

// All but processors and communication is in decisions.jsonl, so that the record of a run that was
// killed will do; those two are in summary.json and config.toml. Throws a usage error that names
// the file if one of them is not what a run writes.
[[nodiscard]] FoundRun read_recorded_run(const std::string& directory);

}  // namespace outpace::cli

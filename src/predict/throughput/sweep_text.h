// Predictions of clusters as a table for people, and as JSON for programs.

#pragma once

#include <string>

#include "throughput/sweep.h"

namespace outpace::throughput {

// Below a table in which clusters with shards are marked.
inline constexpr const char* kNoShardsYet =
    "* not in train yet: it has no shards, so this cluster cannot be run\n";

// A line for each cluster, with both models; then where each kind of cluster stops getting faster.
[[nodiscard]] std::string sweep_table(const Sweep& sweep);
// One JSON object, and a line's end.
[[nodiscard]] std::string sweep_json(const Sweep& sweep);

}  // namespace outpace::throughput

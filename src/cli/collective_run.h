// `outpace train --topology ring` and `gossip`: the processes of a run without a server.

#pragma once

#include <string>

#include "cli/options.h"

namespace outpace::cli {

// Gives the exit code, 0; all else is thrown as Error. `resolved`: the configuration, to keep.
// REQUIRES: the options are checked, fit_topology() among the checks.
int train_without_server(const JobOptions& job,
                         const WorkOptions& work,
                         const std::string& resolved);

}  // namespace outpace::cli

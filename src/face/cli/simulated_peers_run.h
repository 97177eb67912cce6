// `outpace simulate --topology ring` or `gossip`: runs it, and says what came of it.

#pragma once

#include <string>

#include "job/simulate_job.h"

namespace outpace::cli {

// Prints a report, or JSON, and keeps a record, with the resolved configuration, if one is wanted.
// Throws Error if the run does not end well. REQUIRES: job.peers.any().
int simulate_peers(const job::SimulateJob& job, const std::string& resolved);

}  // namespace outpace::cli

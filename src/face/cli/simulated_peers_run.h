// `outpace simulate --topology ring` or `gossip`: runs it, and says what came of it.

#pragma once

#include "job/simulate_job.h"

namespace outpace::cli {

// Prints a report, or JSON. Throws Error if the run does not end well. REQUIRES: job.peers.any().
int simulate_peers(const job::SimulateJob& job);

}  // namespace outpace::cli

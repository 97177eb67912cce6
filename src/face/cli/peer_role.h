// What `outpace peer` does: one worker of a ring or a gossip, which needs Gloo.

#pragma once

#include "job/live_job.h"
#include "run/learner.h"

namespace outpace::cli {

// Trains until the run is over. Throws Error.
void be_peer(const job::PeerJob& job, const run::Learner& learner);

}  // namespace outpace::cli

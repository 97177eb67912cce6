// What the processes of a recorded run without a server decided, once more: the same events must
// give the same decisions (peer/replayed.h).

#pragma once

#include "record/policy_replay.h"
#include "record/run_directory.h"

namespace outpace::record {

// Replays the logs of the host and of all workers that kept one, up to the first difference, or
// event that cannot come; one log's gap ends that log alone. Throws a usage error if a log cannot
// be read.
[[nodiscard]] Replay replay_peers(const RunDirectory& files);

}  // namespace outpace::record

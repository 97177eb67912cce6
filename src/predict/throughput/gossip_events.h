// The fine model of a gossip: every computation and every meeting, one by one.
//
// The code of the live workers (peer/gossip.h) decides which two meet, which one waits and which
// one is served. Here is how long it takes.
//
// Coupled and free: a meeting is a transfer of all weights both ways at once, and a worker is at
// one meeting at a time, so meetings do not share links.
//
// Pull, push and elastic averaging: a pull occupies the link out of the one that is visited, a push
// the link into it; a worker's own visit uses the other way. The holder of the centre meets it in
// its own memory.

#pragma once

#include <cstdint>

#include "job/gossip_options.h"
#include "sim/overlap.h"
#include "throughput/fine.h"
#include "throughput/sampled_timing.h"

namespace outpace::throughput {

struct GossipOfEvents {
  SampledTimingOptions timing;  // Says how many processors the workers share.
  job::GossipOptions options;
  double meeting_seconds;  // Coupled and free: with its messages. Otherwise the transfer alone.
  double message_seconds = 0.0;  // An invitation; each message of a visit.
  double apply_seconds;
  std::uint32_t batch;
  std::uint64_t seed = 1;         // For the meetings.
  sim::Performed performed = {};  // Told of each operation; a meeting is what both workers send.
};

// REQUIRES: at least 20 iterations per worker.
[[nodiscard]] Rate gossip_rate_by_events(const GossipOfEvents& gossip, std::uint32_t iterations);

}  // namespace outpace::throughput

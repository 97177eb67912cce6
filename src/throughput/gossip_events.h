// The fine model of a gossip: every computation and every meeting, one by one.
//
// Workers of even number ask, those of odd number answer (collective/neighbour.h). For each
// gradient one meeting is wanted when it begins. A worker that asks holds its meetings one after
// another: its own first, then those that it was invited to. One that answers invites a worker that
// asks, and answers one at a time, first come, first served. A meeting is a transfer of all weights
// both ways at once, and a worker is at one meeting at a time, so meetings do not share links.
// Coupled: the gradient waits for its meeting. Free: it does not, and a worker that answers invites
// nobody.

#pragma once

#include <cstdint>

#include "job/modelled_cluster.h"
#include "sim/overlap.h"
#include "throughput/fine.h"
#include "throughput/sampled_timing.h"

namespace outpace::throughput {

struct GossipOfEvents {
  SampledTimingOptions timing;  // Says how many processors the workers share.
  job::GossipPace pace;
  double meeting_seconds;  // Of a payload each way, with the latency.
  double invitation_seconds = 0.0;
  double apply_seconds;
  std::uint32_t batch;
  std::uint64_t seed = 1;         // Of the meetings.
  sim::Performed performed = {};  // Told of each operation; a meeting is what both workers send.
};

// REQUIRES: at least 20 iterations per worker.
[[nodiscard]] Rate gossip_rate_by_events(const GossipOfEvents& gossip, std::uint32_t iterations);

}  // namespace outpace::throughput

// A simulated job without a server: what `outpace simulate --topology ring` or `gossip` is told.

#pragma once

#include "base/time.h"
#include "job/gossip_options.h"
#include "job/live_job.h"
#include "job/option_list.h"

namespace outpace::job {

struct SimulateJob;

struct SimulatedPeers {
  Topology topology = Topology::kServer;
  GossipOptions gossip;
  Duration transfer{};

  [[nodiscard]] bool any() const { return topology != Topology::kServer; }
};
void declare(OptionList& options, SimulatedPeers& peers);

// After the options are set; fills in what depends on others. Throws a usage error for options that
// do not go together.
void fit_peers(const OptionList& options, SimulateJob& job);

}  // namespace outpace::job

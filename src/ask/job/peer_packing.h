// What the workers of a ring or a gossip send to each other can be packed.

#pragma once

#include "base/spec.h"
#include "job/option_list.h"
#include "worker/topology.h"

namespace outpace::job {

// Throws a usage error for what the topology cannot pack. REQUIRES: it has no server; the options
// have compress-weights.
void check_packing(const OptionList& options, worker::Topology topology, const Spec& compress);

}  // namespace outpace::job

// Clusters of a regular shape, from a spec, as large as they need to be. A host has a link up and
// one down. Latencies are of each link, 0 if not given; a route has those of all its links.
//
//   star[:latency=25us]
//       All hosts around one switch, which is never the bottleneck.
//   tree:racks=4[,oversubscription=4][,latency=25us][,uplink_latency=100us]
//       As many hosts in each rack, whose switch has a link each way to a core that is never the
//       bottleneck. Oversubscription is what all hosts of a rack could send, divided by what its
//       link carries; by default it is 1, and the link is as short as the hosts'.
//   fat-tree[:k=8][,latency=25us]
//       k pods, k * k * k / 4 hosts, all links alike (Al-Fares et al., "A Scalable, Commodity Data
//       Center Network Architecture", SIGCOMM 2008, section 2.2). k is as small as possible
//       by default.

#pragma once

#include <cstdint>

#include "base/spec.h"
#include "links/topology.h"

namespace outpace::links {

struct ShapeOptions {
  std::uint64_t hosts;  // At least this many; 1 to a million.
  double bandwidth;     // Bandwidth of a host's links, in bytes/s; above 0 and finite.
};

// Throws a usage error.
[[nodiscard]] Topology make_shape(const Spec& spec, const ShapeOptions& options);

}  // namespace outpace::links

// Clusters of a regular shape, from a spec. Bandwidths are in bytes/s, latencies in seconds, of
// each link; a host has a link up and one down, and a route the latency of all its links.
//
//   star:hosts=9,bandwidth=1.25e9,latency=50e-6
//       Around one switch that is never the bottleneck.
//   tree:racks=4,hosts=8,bandwidth=1.25e9,latency=50e-6[,uplink=5e9][,uplink_latency=1e-4]
//       `hosts` in each rack, whose switch has a link each way to a core that is never the
//       bottleneck. By default it carries what all hosts of the rack do, and is as short as theirs.
//   fattree:k=4,bandwidth=1.25e9,latency=50e-6
//       k pods, k * k * k / 4 hosts, all links alike (Al-Fares et al., "A Scalable, Commodity Data
//       Center Network Architecture", SIGCOMM 2008, section 2.2).

#pragma once

#include "base/spec.h"
#include "network/topology.h"

namespace outpace::network {

// Throws a usage error.
[[nodiscard]] Topology make_topology(const Spec& spec);

}  // namespace outpace::network

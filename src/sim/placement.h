// Which hosts of a cluster the server's shards are on.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "links/topology.h"

namespace outpace::sim {

// A host for each shard: those that are named, or without any names the first. A name that is none
// of the topology's is a host's number, from 0. Throws a usage error. REQUIRES: as many hosts as
// shards.
[[nodiscard]] std::vector<links::HostId> place_shards(std::uint32_t shards,
                                                      std::span<const std::string> named,
                                                      const links::Topology& topology);

}  // namespace outpace::sim

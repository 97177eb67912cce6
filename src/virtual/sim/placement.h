// Which hosts of a cluster the server's shards are on.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "links/topology.h"

namespace outpace::sim {

// A host for each shard: the named hosts, or the first ones if none is named. A name that the
// topology does not have is read as a host's number, from 0. Throws a usage error. REQUIRES: at
// least as many hosts as shards.
[[nodiscard]] std::vector<links::HostId> place_shards(std::uint32_t shards,
                                                      std::span<const std::string> named,
                                                      const links::Topology& topology);

}  // namespace outpace::sim

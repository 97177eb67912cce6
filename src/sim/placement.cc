#include "sim/placement.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::sim {
namespace {

network::HostId find_host(const std::string& name, const network::Topology& topology) {
  const std::vector<std::string>& hosts = topology.hosts;
  if (const auto found = std::find(hosts.begin(), hosts.end(), name); found != hosts.end()) {
    return network::HostId(found - hosts.begin());
  }
  if (const auto number = parse_count(name); number && *number < hosts.size()) {
    return network::HostId(*number);
  }
  const std::string near = nearest(name, hosts);
  throw usage_error("server host '" + name + "': no such host; " +
                    (near.empty()
                         ? "it takes a name such as '" + hosts.back() +
                               "', or a number from 0 to " + std::to_string(hosts.size() - 1)
                         : "did you mean '" + near + "'?"));
}

}  // namespace

std::vector<network::HostId> place_shards(std::uint32_t shards,
                                          std::span<const std::string> named,
                                          const network::Topology& topology) {
  CHECK(shards >= 1 && shards <= topology.hosts.size());
  std::vector<network::HostId> servers;
  if (named.empty()) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      servers.push_back(network::HostId{shard});
    }
    return servers;
  }
  if (named.size() != shards) {
    throw usage_error("server host: " + std::to_string(named.size()) + " named, but " +
                      std::to_string(shards) + " needed, one for each of --shards");
  }
  for (const std::string& name : named) {
    const network::HostId host = find_host(name, topology);
    if (std::find(servers.begin(), servers.end(), host) != servers.end()) {
      throw usage_error("server host '" + name + "' is named twice; each shard takes its own");
    }
    servers.push_back(host);
  }
  return servers;
}

}  // namespace outpace::sim

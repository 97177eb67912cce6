#include "sim/placement.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::sim {
namespace {

links::HostId find_host(const std::string& name, const links::Topology& topology) {
  const std::vector<std::string>& hosts = topology.hosts;
  if (const auto found = std::find(hosts.begin(), hosts.end(), name); found != hosts.end()) {
    return links::HostId(found - hosts.begin());
  }
  if (const auto number = parse_count(name); number && *number < hosts.size()) {
    return links::HostId(*number);
  }
  const std::string near = nearest(name, hosts);
  throw usage_error("server host '" + name + "': no such host; " +
                    (near.empty()
                         ? "it takes a name such as '" + hosts.back() +
                               "', or a number from 0 to " + std::to_string(hosts.size() - 1)
                         : "did you mean '" + near + "'?"));
}

}  // namespace

std::vector<links::HostId> place_shards(std::uint32_t shards,
                                        std::span<const std::string> named,
                                        const links::Topology& topology) {
  CHECK(shards >= 1 && shards <= topology.hosts.size());
  std::vector<links::HostId> servers;
  if (named.empty()) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      servers.push_back(links::HostId{shard});
    }
    return servers;
  }
  if (named.size() != shards) {
    throw usage_error("server host: " + std::to_string(named.size()) + " named, but " +
                      std::to_string(shards) + " needed, one for each of --shards");
  }
  for (const std::string& name : named) {
    const links::HostId host = find_host(name, topology);
    if (std::find(servers.begin(), servers.end(), host) != servers.end()) {
      throw usage_error("server host '" + name + "' is named twice; each shard takes its own");
    }
    servers.push_back(host);
  }
  return servers;
}

}  // namespace outpace::sim

// The hosts of a simulated cluster, its links, and the links between any two hosts.
//
// Routes are computed or looked up, so that a regular cluster of n hosts takes memory for n of them
// and not for n * n. shapes.h makes topologies from specs, platform.h from SimGrid's files.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "links/link.h"

namespace outpace::links {

// A host's place in its topology's list.
enum class HostId : std::uint32_t {};

[[nodiscard]] constexpr std::size_t index(HostId host) {
  return static_cast<std::size_t>(host);
}

// The link from host i to its switch is link 2 * i; the link back is 2 * i + 1. All pairs of links
// in the regular clusters are numbered in this way, the hosts' pairs first.
[[nodiscard]] constexpr LinkId up_link(std::size_t pair) {
  return LinkId(2 * pair);
}
[[nodiscard]] constexpr LinkId down_link(std::size_t pair) {
  return LinkId(2 * pair + 1);
}

// All hosts around one switch, or along one backbone.
struct StarRoutes {
  std::optional<LinkId> backbone;

  void append(HostId from, HostId to, std::vector<LinkId>& out) const;
};

// Racks of equally many hosts around a core. The racks' pairs of links follow those of the hosts.
struct TreeRoutes {
  std::size_t racks;
  std::size_t hosts_per_rack;

  void append(HostId from, HostId to, std::vector<LinkId>& out) const;
};

// k pods with k / 2 edge and k / 2 aggregation switches each, and a core of k * k / 4 switches; all
// have k ports. The hosts' pairs are followed by those of (pod, edge, aggregation), then of (pod,
// aggregation, core). The destination's number selects the way up, so that the hosts of an edge
// switch, and the edge switches of a pod, are reached over different ways.
struct FatTreeRoutes {
  std::size_t half;  // k / 2.

  void append(HostId from, HostId to, std::vector<LinkId>& out) const;
};

// An explicit route for every pair of hosts.
struct RouteTable {
  std::map<std::pair<HostId, HostId>, std::vector<LinkId>> routes;

  void append(HostId from, HostId to, std::vector<LinkId>& out) const;
};

struct Topology {
  std::vector<std::string> hosts;  // Their names.
  std::vector<Link> links;
  std::variant<StarRoutes, TreeRoutes, FatTreeRoutes, RouteTable> routes;

  // Replaces `out` with the links in the order in which bytes pass them. The route from a host to
  // itself is empty, unless a platform file says otherwise. REQUIRES: both are below hosts.size().
  void route(HostId from, HostId to, std::vector<LinkId>& out) const;
};

}  // namespace outpace::links

#include "links/topology.h"

#include "base/check.h"

namespace outpace::links {

void StarRoutes::append(HostId from, HostId to, std::vector<LinkId>& out) const {
  if (from == to) {
    return;
  }
  out.push_back(up_link(index(from)));
  if (backbone) {
    out.push_back(*backbone);
  }
  out.push_back(down_link(index(to)));
}

void TreeRoutes::append(HostId from, HostId to, std::vector<LinkId>& out) const {
  if (from == to) {
    return;
  }
  const std::size_t hosts = racks * hosts_per_rack;
  const std::size_t rack_from = index(from) / hosts_per_rack;
  const std::size_t rack_to = index(to) / hosts_per_rack;
  out.push_back(up_link(index(from)));
  if (rack_from != rack_to) {
    out.push_back(up_link(hosts + rack_from));
    out.push_back(down_link(hosts + rack_to));
  }
  out.push_back(down_link(index(to)));
}

void FatTreeRoutes::append(HostId from, HostId to, std::vector<LinkId>& out) const {
  if (from == to) {
    return;
  }
  const std::size_t hosts = 2 * half * half * half;
  const std::size_t aggregation = index(to) % half;
  const std::size_t core = index(to) / half % half;
  const auto edge_pair = [&](std::size_t edge) { return hosts + edge * half + aggregation; };
  const auto core_pair = [&](std::size_t pod) {
    return 2 * hosts + (pod * half + aggregation) * half + core;
  };
  const std::size_t edge_from = index(from) / half;  // Counted over all pods.
  const std::size_t edge_to = index(to) / half;
  const std::size_t pod_from = edge_from / half;
  const std::size_t pod_to = edge_to / half;
  out.push_back(up_link(index(from)));
  if (edge_from != edge_to) {
    out.push_back(up_link(edge_pair(edge_from)));
    if (pod_from != pod_to) {
      out.push_back(up_link(core_pair(pod_from)));
      out.push_back(down_link(core_pair(pod_to)));
    }
    out.push_back(down_link(edge_pair(edge_to)));
  }
  out.push_back(down_link(index(to)));
}

void RouteTable::append(HostId from, HostId to, std::vector<LinkId>& out) const {
  const auto found = routes.find({from, to});
  if (found == routes.end()) {
    CHECK(from == to);
    return;
  }
  out.insert(out.end(), found->second.begin(), found->second.end());
}

void Topology::route(HostId from, HostId to, std::vector<LinkId>& out) const {
  CHECK(index(from) < hosts.size() && index(to) < hosts.size());
  out.clear();
  std::visit([&](const auto& kind) { kind.append(from, to, out); }, routes);
}

}  // namespace outpace::links

#include "throughput/cluster_kinds.h"

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::throughput {
namespace {

Topology topology_of(const std::string& text) {
  for (const Topology topology : {Topology::kServer, Topology::kRing, Topology::kGossip}) {
    if (text == name(topology)) {
      return topology;
    }
  }
  throw usage_error("--topology is '" + text + "'; it takes ps, ring or gossip");
}

}  // namespace

std::optional<std::string> too_few_workers(const ClusterKind& kind, std::uint32_t workers) {
  return kind.topology == Topology::kGossip && workers < 2
             ? std::optional<std::string>("a gossip takes at least 2 workers")
             : std::nullopt;
}

std::string name_of_kind(const ClusterKind& kind) {
  return kind.policy.empty() ? std::string(name(kind.topology)) : kind.policy;
}

std::vector<Topology> topologies_of(const std::vector<std::string>& names) {
  std::vector<Topology> topologies;
  topologies.reserve(names.size() + 1);
  for (const std::string& text : names) {
    topologies.push_back(topology_of(text));
  }
  if (topologies.empty()) {
    topologies.push_back(Topology::kServer);
  }
  return topologies;
}

std::vector<ClusterKind> cluster_kinds(const std::vector<Topology>& topologies,
                                       const std::vector<std::string>& policies,
                                       const std::vector<std::uint32_t>& shards,
                                       const std::vector<std::uint32_t>& steps) {
  std::vector<ClusterKind> kinds;
  for (const Topology topology : topologies) {
    if (topology != Topology::kServer) {
      kinds.push_back({"", topology, 0});
      continue;
    }
    for (const std::string& policy : policies) {
      for (const std::uint32_t count : shards) {
        for (const std::uint32_t local_steps : steps) {
          kinds.push_back({policy, topology, count, local_steps});
        }
      }
    }
  }
  return kinds;
}

std::vector<std::uint32_t> steps_of(const job::ModelledCluster& cluster) {
  return cluster.local_steps ? cluster.local_steps->counts : std::vector<std::uint32_t>{0};
}

std::string steps_in_words(std::uint32_t local_steps) {
  return local_steps == 0
             ? ""
             : fmt::format(", {} local step{}", local_steps, local_steps == 1 ? "" : "s");
}

}  // namespace outpace::throughput

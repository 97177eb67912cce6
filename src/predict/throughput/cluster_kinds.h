// Clusters but for their workers: each combination of policy, topology and number of shards.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/modelled_cluster.h"
#include "throughput/coarse_cluster.h"

namespace outpace::throughput {

struct ClusterKind {
  std::string policy;  // Empty without a server.
  Topology topology;
  std::uint32_t shards;           // 0 without a server.
  std::uint32_t local_steps = 0;  // Between two pushes; 0: each mini-batch is pushed.
};

// Why a cluster of this kind cannot have this few workers, in words; nothing if it can.
[[nodiscard]] std::optional<std::string> too_few_workers(const ClusterKind& kind,
                                                         std::uint32_t workers);
// The policy, or without a server the topology.
[[nodiscard]] std::string name_of_kind(const ClusterKind& kind);

// Throws a usage error for anything but ps, ring and gossip. None: ps.
[[nodiscard]] std::vector<Topology> topologies_of(const std::vector<std::string>& names);

// A topology without a server has neither policies nor shards nor local steps, and is one kind.
[[nodiscard]] std::vector<ClusterKind> cluster_kinds(const std::vector<Topology>& topologies,
                                                     const std::vector<std::string>& policies,
                                                     const std::vector<std::uint32_t>& shards,
                                                     const std::vector<std::uint32_t>& steps);
// What cluster_kinds() takes for steps.
[[nodiscard]] std::vector<std::uint32_t> steps_of(const job::ModelledCluster& cluster);
// ", 10 local steps"; empty without.
[[nodiscard]] std::string steps_in_words(std::uint32_t local_steps);

}  // namespace outpace::throughput

// Predictions for people and for programs.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "throughput/coarse_cluster.h"
#include "throughput/fine.h"

namespace outpace::cli {

struct ClusterPrediction {
  std::string model;  // "fine" or "coarse".
  std::uint32_t workers;
  std::string policy;  // Empty without a server.
  throughput::Topology topology;
  std::uint32_t shards;
  throughput::Rate rate;
  throughput::Bottleneck bottleneck;
};

// The policy, or without a server the topology; and the shards.
[[nodiscard]] std::string kind_name(const ClusterPrediction& one);
// Of each kind and model the predictions, in the order of their workers.
[[nodiscard]] std::vector<std::vector<const ClusterPrediction*>> by_kind_and_model(
    const std::vector<ClusterPrediction>& predictions);
// From where on more workers gain nothing, of one kind and model; nothing if they do to the end.
[[nodiscard]] std::optional<std::size_t> saturated(
    const std::vector<const ClusterPrediction*>& sweep);

// One JSON object on standard output.
void print_predictions_as_json(const std::vector<ClusterPrediction>& predictions);
// A line a cluster, both models in it; then where each kind of cluster stops getting faster.
void print_predictions(const std::vector<ClusterPrediction>& predictions);

}  // namespace outpace::cli

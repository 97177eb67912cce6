// Predictions for people and for programs.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "throughput/fine.h"
#include "throughput/outlook.h"

namespace outpace::cli {

struct Prediction {
  std::string model;  // "fine" or "coarse".
  std::uint32_t workers;
  std::string policy;  // Empty without a server.
  throughput::Topology topology;
  std::uint32_t shards;
  throughput::Rate rate;
  throughput::Bottleneck bottleneck;
};

// The policy, or without a server the topology; and the shards.
[[nodiscard]] std::string kind_name(const Prediction& one);
// Of each kind and model the predictions, in the order of their workers.
[[nodiscard]] std::vector<std::vector<const Prediction*>> by_kind_and_model(
    const std::vector<Prediction>& predictions);
// From where on more workers gain nothing, of one kind and model; nothing if they do to the end.
[[nodiscard]] std::optional<std::size_t> saturated(const std::vector<const Prediction*>& sweep);

// One JSON object on standard output.
void print_predictions_as_json(const std::vector<Prediction>& predictions);
// A line a cluster, both models in it; then where each kind of cluster stops getting faster.
void print_predictions(const std::vector<Prediction>& predictions);

}  // namespace outpace::cli

// Predictions for people and for programs.

#pragma once

#include <cstdint>
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

// One JSON object on standard output.
void print_predictions_as_json(const std::vector<Prediction>& predictions);
// A line a cluster, both models in it; then where each kind of cluster stops getting faster.
void print_predictions(const std::vector<Prediction>& predictions);

}  // namespace outpace::cli

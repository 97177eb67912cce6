// What `outpace predict` does with a measured profile: clusters of many kinds, each by a fine and a
// coarse model.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "throughput/measured_profile.h"

namespace outpace::cli {

struct PredictClusterOptions {
  std::string workers;                  // Empty: 1..16.
  std::vector<std::string> policies;    // Empty: sync and async.
  std::vector<std::string> topologies;  // Empty: ps.
  std::string shards = "1";
  std::string bandwidth;  // Empty: links are never in the way.
  std::string latency = "0s";
  std::string send_window;  // Empty: weights for several workers go out at the same time.
  std::vector<std::string> models{"fine", "coarse"};
  bool plain = false;  // Coarse without heuristics.
  WorkOptions work;    // Delays alone.
  std::uint32_t cores = 0;
  std::uint32_t iterations = 0;  // Of each worker; 0: as many as it takes.
  std::uint64_t seed = 1;
  bool json = false;
};
void add_predict_cluster_options(CLI::App& command, PredictClusterOptions& options);

// Prints the predictions, as JSON or for people. Throws a usage error that names the option.
int predict_cluster(const throughput::MeasuredProfile& profile,
                    const PredictClusterOptions& options);

}  // namespace outpace::cli

// What `outpace predict` and `outpace plan` are told of the clusters that a measured profile is to
// be taken to: links, and how fast workers are.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "throughput/coarse_cluster.h"

namespace outpace::cli {

inline constexpr std::uint32_t kClusterWorkersMost = 10'000;
inline constexpr std::uint32_t kClusterShardsMost = 256;

struct ModelledClusterOptions {
  std::string bandwidth;  // Empty: links are never in the way.
  std::string latency = "0s";
  std::string send_window;  // Empty: weights for several workers go out at the same time.
  std::string runtime;      // Empty: the profile's computing.
  WorkOptions work;         // Delays alone.
  std::uint32_t cores = 0;
  bool plain = false;            // Coarse without heuristics.
  std::uint32_t iterations = 0;  // Of each worker; 0: as many as it takes.
  std::uint64_t seed = 1;
};
void add_modelled_cluster_options(CLI::App& command, ModelledClusterOptions& options);
// Their names, without dashes: a calibrated profile has none of them.
[[nodiscard]] const std::vector<std::string>& modelled_cluster_option_names();

// Throws a usage error about options that do not go together.
void check_modelled_cluster(const ModelledClusterOptions& options);

// These throw a usage error that names the option.
[[nodiscard]] throughput::Wires parse_wires(const ModelledClusterOptions& options);
[[nodiscard]] throughput::Topology parse_topology(const std::string& text);

}  // namespace outpace::cli

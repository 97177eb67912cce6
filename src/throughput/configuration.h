// What a job is run on, and what of it was measured: a row of a table of throughput.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace outpace::throughput {

struct Configuration {
  std::uint32_t workers = 1;
  std::uint32_t nodes = 1;        // Machines; at most as many as workers.
  double batch_per_worker = 1.0;  // Examples of one iteration of one worker.
  std::string policy;             // As the table names it; empty: it does not say.
  std::string topology;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// The most workers that share a node, if they are spread evenly.
[[nodiscard]] inline std::uint32_t workers_per_node(const Configuration& configuration) {
  return (configuration.workers + configuration.nodes - 1) / configuration.nodes;
}

struct Row {
  Configuration configuration;
  // From one update to the next, or of one worker if updates are not in step: computing,
  // synchronising and what of both is not hidden by the other.
  std::optional<double> iteration_seconds;
  std::optional<double> sync_seconds;  // What of it is synchronising that nothing hides.

  friend bool operator==(const Row&, const Row&) = default;
};

}  // namespace outpace::throughput

// What a job runs on and what was measured: one row of a table of throughput.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace outpace::throughput {

struct Configuration {
  std::uint32_t workers = 1;
  std::uint32_t nodes = 1;        // Machines; at most `workers`.
  double batch_per_worker = 1.0;  // Examples per worker and iteration.
  std::string policy;             // As the table names it; empty if it does not say.
  std::string topology;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// The most workers on one node, if they are spread evenly.
[[nodiscard]] inline std::uint32_t workers_per_node(const Configuration& configuration) {
  return (configuration.workers + configuration.nodes - 1) / configuration.nodes;
}

struct Row {
  Configuration configuration;
  // The time from one update to the next, or of one worker if updates are not synchronised. It
  // covers computing and synchronising, less their overlap.
  std::optional<double> iteration_seconds;
  std::optional<double> sync_seconds;  // The part of it that is synchronising and not overlapped.

  friend bool operator==(const Row&, const Row&) = default;
};

}  // namespace outpace::throughput

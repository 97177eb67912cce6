// A run's result for programs: summary.json, which --json prints too. worker_table.h shows it to
// people.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "record/processor_use.h"
#include "server/evaluations.h"
#include "server/statistics.h"

namespace outpace::record {

struct Summary {
  std::string topology = "ps";  // ps (a parameter server), ring or gossip.
  // As the user wrote them.
  std::string policy;
  std::optional<double> balance_most = std::nullopt;  // Nothing: mini-batches are not balanced.
  std::string staleness;
  std::string optimizer;
  double lr = 0.0;
  std::optional<std::uint32_t> local_steps = std::nullopt;  // By that optimizer; nothing: none.
  std::string outer_optimizer{};                            // The server's, with local steps.
  std::string filter = "none";
  std::string network;
  std::string data;
  std::uint32_t workers = 0;  // Planned.
  // The result.
  double seconds = 0.0;
  server::Statistics statistics;
  std::vector<server::Evaluation> evaluations;
  std::optional<double> target;
  std::optional<double> seconds_to_target;
  std::optional<double> final_accuracy;
  std::optional<double> final_loss;
  // If each worker has its own replica.
  std::optional<double> worst_replica_accuracy = std::nullopt;
  std::map<std::size_t, std::uint64_t> died{};  // Workers that did not come back: the update.
  std::string why_ended;
  std::optional<ProcessorUse> processors = std::nullopt;  // In a live run.
};

// Unknown or non-finite values are null; no key is ever missing.
[[nodiscard]] nlohmann::ordered_json to_json(const Summary& summary);

// Writes atomically. Throws Error if the file system refuses.
void write_summary(const std::filesystem::path& path, const Summary& summary);

}  // namespace outpace::record

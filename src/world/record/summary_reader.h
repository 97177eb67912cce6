// Reads summary.json, what a run did in all, for other commands.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "policy/recorded_run.h"

namespace outpace::record {

// Nothing if there is no such file: the run was killed. Throws a usage error that names the file if
// it is no JSON object.
[[nodiscard]] std::optional<nlohmann::json> read_summary(const std::filesystem::path& path);

// The gradient's noise scale, in examples; nothing if it was not measured.
[[nodiscard]] std::optional<double> noise_scale(const nlohmann::json& summary);

// The policy that `auto` had in force for the longest time; empty if none was.
[[nodiscard]] std::string most_in_force(const nlohmann::json& summary);

// What the run had learnt, and after how long; nothing if it tells no accuracy and no loss.
[[nodiscard]] std::optional<policy::Reached> reached(const nlohmann::json& summary);

// What a run's directory tells of learning. Throws a usage error that names the file if it has no
// noise scale.
struct Learning {
  double noise_scale = 0.0;  // Examples.
  std::optional<policy::Reached> reached;
};
[[nodiscard]] Learning read_learning(const std::string& directory);

}  // namespace outpace::record

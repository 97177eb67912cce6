// Reads summary.json, what a run did in all, for other commands.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace outpace::record {

// Nothing if there is no such file: the run was killed. Throws a usage error that names the file if
// it is no JSON object.
[[nodiscard]] std::optional<nlohmann::json> read_summary(const std::filesystem::path& path);

// The gradient's noise scale, in examples; nothing if it was not measured.
[[nodiscard]] std::optional<double> noise_scale(const nlohmann::json& summary);

// The policy that `auto` had in force for the longest time; empty if none was.
[[nodiscard]] std::string most_in_force(const nlohmann::json& summary);

// The noise scale for a run's directory. Throws a usage error that names the file if it has none.
[[nodiscard]] double read_noise_scale(const std::string& directory);

}  // namespace outpace::record

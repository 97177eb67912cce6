#include "record/summary_reader.h"

#include <fstream>

#include "base/error.h"

namespace outpace::record {

std::optional<nlohmann::json> read_summary(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) {
    throw usage_error(path.string() + ": not the summary of a run; it takes a JSON object");
  }
  return json;
}

std::optional<double> noise_scale(const nlohmann::json& summary) {
  const auto scale = summary.find("gradient_noise_scale");
  return scale != summary.end() && scale->is_number() && scale->get<double>() > 0.0
             ? std::optional(scale->get<double>())
             : std::nullopt;
}

std::string most_in_force(const nlohmann::json& summary) {
  const nlohmann::json choice = summary.value("choice", nlohmann::json());
  const nlohmann::json candidates =
      choice.is_object() ? choice.value("candidates", nlohmann::json()) : nlohmann::json();
  std::string found;
  std::uint64_t most = 0;
  for (const nlohmann::json& candidate : candidates) {
    const nlohmann::json looks =
        candidate.is_object() ? candidate.value("looks", nlohmann::json()) : nlohmann::json();
    if (looks.is_number_unsigned() && looks.get<std::uint64_t>() > most) {
      most = looks.get<std::uint64_t>();
      found = candidate.value("policy", "");
    }
  }
  return found;
}

double read_noise_scale(const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory) / "summary.json";
  const auto summary = read_summary(path);
  if (!summary) {
    throw usage_error(path.string() + ": cannot be read; a run's directory has one");
  }
  if (!summary->contains("gradient_noise_scale")) {
    throw usage_error(path.string() +
                      ": no gradient_noise_scale; a run of an older outpace does not keep it");
  }
  const std::optional<double> scale = noise_scale(*summary);
  if (!scale) {
    throw usage_error(path.string() +
                      ": gradient_noise_scale was not measured; a run with --policy auto or "
                      "dynamic:objective=progress measures it");
  }
  return *scale;
}

}  // namespace outpace::record

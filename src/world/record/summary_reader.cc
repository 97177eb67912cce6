#include "record/summary_reader.h"

#include <cmath>
#include <cstdint>
#include <fstream>

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::record {
namespace {

// Nothing if it is no number.
std::optional<double> number(const nlohmann::json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_number() ? std::optional(value->get<double>())
                                                     : std::nullopt;
}

// At its target, or else at its last evaluation: what, and when. Its examples are not known yet.
std::optional<policy::Reached> learnt(const nlohmann::json& summary) {
  const auto target = number(summary, "target_accuracy");
  const auto seconds = number(summary, "seconds_to_target");
  if (target && seconds) {
    return policy::Reached{.what = fmt::format("{:.1f} %", 100.0 * *target), .seconds = *seconds};
  }
  const nlohmann::json evaluations = summary.value("evaluations", nlohmann::json());
  if (!evaluations.is_array() || evaluations.empty() || !evaluations.back().is_object()) {
    return std::nullopt;
  }
  const nlohmann::json& last = evaluations.back();
  const double at = number(last, "seconds").value_or(0.0);
  if (const auto accuracy = number(last, "accuracy")) {
    return policy::Reached{.what = fmt::format("{:.1f} %", 100.0 * *accuracy), .seconds = at};
  }
  if (const auto loss = number(last, "loss")) {
    return policy::Reached{.what = fmt::format("loss {:.4g}", *loss), .seconds = at};
  }
  return std::nullopt;
}

}  // namespace

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

// The staleness that all but one in a hundred gradients had stands for the most: a single one that
// a crash delayed would weigh as much as all others.
std::optional<policy::Reached> reached(const nlohmann::json& summary) {
  auto found = learnt(summary);
  const double rate = number(summary, "examples_per_second").value_or(0.0);
  const double updates = number(summary, "updates").value_or(0.0);
  const double examples = number(summary, "examples").value_or(0.0);
  if (!found || !(found->seconds > 0.0 && rate > 0.0 && updates > 0.0 && examples > 0.0)) {
    return std::nullopt;
  }
  const nlohmann::json staleness = summary.value("staleness", nlohmann::json());
  if (staleness.is_object()) {
    found->stale_root =
        std::sqrt(number(staleness, "mean").value_or(0.0) * number(staleness, "p99").value_or(0.0));
  }
  found->examples = rate * found->seconds;
  found->in_update = examples / updates;
  return found;
}

Learning read_learning(const std::string& directory) {
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
  return {.noise_scale = *scale, .reached = reached(*summary)};
}

}  // namespace outpace::record

#include "record/summary_reader.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "policy/progress.h"

namespace outpace::record {
namespace {

constexpr double kUpdatesMost = 1e15;

// Nothing if it is no number.
std::optional<double> number(const nlohmann::json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_number() ? std::optional(value->get<double>())
                                                     : std::nullopt;
}

// The examples applied by the evaluation at this time. A record of an older outpace does not tell
// them: the run's mean rate does, which counts wrongly what a run waited for.
double examples_at(const nlohmann::json& summary, double seconds) {
  for (const nlohmann::json& evaluation : summary.value("evaluations", nlohmann::json::array())) {
    if (evaluation.is_object() && number(evaluation, "seconds") == seconds) {
      if (const auto examples = number(evaluation, "examples")) {
        return *examples;
      }
    }
  }
  return seconds * number(summary, "examples_per_second").value_or(0.0);
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

// Empty if it tells none, or not rightly.
std::vector<policy::Progress::Stale> by_staleness(const nlohmann::json& summary) {
  const nlohmann::json staleness = summary.value("staleness", nlohmann::json());
  const nlohmann::json histogram =
      staleness.is_object() ? staleness.value("histogram", nlohmann::json()) : nlohmann::json();
  std::vector<policy::Progress::Stale> found;
  if (!histogram.is_object()) {
    return found;
  }
  for (const auto& [key, count] : histogram.items()) {
    const auto updates = parse_number(key);
    if (!updates || !(*updates >= 0.0 && *updates < kUpdatesMost) || !count.is_number_unsigned() ||
        count.get<std::uint64_t>() == 0) {
      return {};
    }
    found.push_back({.staleness = static_cast<std::uint64_t>(*updates),
                     .gradients = count.get<std::uint64_t>()});
  }
  std::ranges::sort(found, {}, &policy::Progress::Stale::staleness);
  return found;
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

std::optional<policy::Reached> reached(const nlohmann::json& summary) {
  auto found = learnt(summary);
  const double updates = number(summary, "updates").value_or(0.0);
  const double examples = number(summary, "examples").value_or(0.0);
  const std::vector<policy::Progress::Stale> gradients = by_staleness(summary);
  if (!found || gradients.empty() || !(found->seconds > 0.0) ||
      !(updates >= 1.0 && updates < kUpdatesMost && examples > 0.0)) {
    return std::nullopt;
  }
  std::uint64_t applied = 0;
  for (const policy::Progress::Stale& some : gradients) {
    applied += some.gradients;
  }
  found->examples = examples_at(summary, found->seconds);
  if (!(found->examples > 0.0)) {
    return std::nullopt;
  }
  found->mixed = examples / static_cast<double>(applied) *
                 policy::Progress::mixed_gradients(gradients, static_cast<std::uint64_t>(updates));
  return found;
}

Learning read_learning(const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory) / "summary.json";
  const auto summary = read_summary(path);
  if (!summary) {
    throw usage_error(path.string() + ": cannot be read; a run's directory has one");
  }
  // What a worker pushes there is the sum of many steps.
  if (const auto steps = summary->find("local_steps");
      steps != summary->end() && !steps->is_null()) {
    throw usage_error(path.string() + ": the run had --local-steps " + steps->dump() +
                      ", which says nothing of the noise of a gradient; take a run without");
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

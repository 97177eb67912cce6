#include "compare/run_record.h"

#include "compare/seed_statistics.h"

namespace outpace::compare {
namespace {

using nlohmann::json;

std::optional<double> number_at(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

// Dropped, cancelled, refused and filtered gradients, as a share of all that were computed or cut
// off.
std::optional<double> dropped_share(const json& summary) {
  double unused = 0.0;
  for (const char* key :
       {"gradients_dropped", "gradients_cancelled", "gradients_refused", "gradients_filtered"}) {
    unused += summary.at(key).get<double>();
  }
  const double all = unused + summary.at("gradients_applied").get<double>();
  return all > 0.0 ? std::optional(unused / all) : std::nullopt;
}

}  // namespace

RunResult result_of(const json& summary) {
  RunResult result{.examples_per_second = number_at(summary, "examples_per_second"),
                   .seconds = summary.at("seconds").get<double>(),
                   .updates = summary.at("updates").get<std::uint64_t>(),
                   .seconds_to_target = number_at(summary, "seconds_to_target"),
                   .final_accuracy = number_at(summary, "final_accuracy"),
                   .staleness_mean = number_at(summary.at("staleness"), "mean"),
                   .staleness_max = number_at(summary.at("staleness"), "max"),
                   .dropped = dropped_share(summary)};
  std::vector<double> examples;
  for (const json& worker : summary.at("workers_detail")) {
    examples.push_back(worker.at("examples").get<double>());
  }
  result.fairness = jain_index(examples);
  for (const json& evaluation : summary.at("evaluations")) {
    if (const auto accuracy = number_at(evaluation, "accuracy")) {
      result.accuracy.push_back(
          {.seconds = evaluation.at("seconds").get<double>(), .accuracy = *accuracy});
    }
  }
  return result;
}

std::string record_text(const Identity& identity,
                        const std::string& commit,
                        const nlohmann::ordered_json& summary) {
  const nlohmann::ordered_json record{{"words", identity.words},
                                      {"files_digest", identity.files},
                                      {"commit", commit},
                                      {"result", summary}};
  return record.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::optional<KeptRun> read_record(const std::string& text, const Identity& identity) {
  try {
    const json record = json::parse(text);
    const Identity kept{.words = record.at("words").get<std::vector<std::string>>(),
                        .files = record.at("files_digest").get<std::uint64_t>()};
    if (!(kept == identity)) {
      return std::nullopt;
    }
    return KeptRun{.commit = record.at("commit").get<std::string>(),
                   .result = result_of(record.at("result"))};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace outpace::compare

#include "compare/csv.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace outpace::compare {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char letter : text) {
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return quoted + "\"";
}

// The shortest digits that give the same number again.
std::string number_or_blank(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string row(const std::vector<std::string>& fields) {
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string runs_csv(const Config& config,
                     const std::vector<Cell>& cells,
                     const std::vector<Outcome>& outcomes) {
  std::string text =
      "trace,name,policy,seed,status,examples_per_second,seconds,updates,seconds_to_target,"
      "final_accuracy,staleness_mean,staleness_max,dropped_share,fairness,reason\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Row& policy = config.rows[cells[i].row];
    const bool done = outcomes[i].result.has_value();
    const RunResult result = outcomes[i].result.value_or(RunResult{});
    text += row({quoted(config.traces[cells[i].trace].name),
                 quoted(policy.name),
                 quoted(policy.policy),
                 std::to_string(cells[i].seed),
                 done ? "done" : "failed",
                 number_or_blank(result.examples_per_second),
                 done ? number_or_blank(result.seconds) : "",
                 done ? std::to_string(result.updates) : "",
                 number_or_blank(result.seconds_to_target),
                 number_or_blank(result.final_accuracy),
                 number_or_blank(result.staleness_mean),
                 number_or_blank(result.staleness_max),
                 number_or_blank(result.dropped),
                 number_or_blank(result.fairness),
                 quoted(outcomes[i].failure)});
  }
  return text;
}

std::string summary_csv(const Config& config, const std::vector<Summary>& summaries) {
  using Measured = std::pair<std::string_view, std::optional<Mean> Summary::*>;
  const std::vector<Measured> means{{"examples_per_second", &Summary::examples_per_second},
                                    {"seconds_to_target", &Summary::seconds_to_target},
                                    {"final_accuracy", &Summary::final_accuracy},
                                    {"staleness_mean", &Summary::staleness_mean},
                                    {"dropped_share", &Summary::dropped},
                                    {"fairness", &Summary::fairness}};
  std::string text = "trace,name,policy,seeds,finished,reached,staleness_max";
  for (const auto& [name, mean] : means) {
    text += fmt::format(",{0},{0}_half_width,{0}_n", name);
  }
  text += ",reason\n";
  for (const Summary& summary : summaries) {
    const Row& policy = config.rows[summary.row];
    std::vector<std::string> fields{quoted(config.traces[summary.trace].name),
                                    quoted(policy.name),
                                    quoted(policy.policy),
                                    std::to_string(summary.seeds),
                                    std::to_string(summary.finished),
                                    std::to_string(summary.reached),
                                    number_or_blank(summary.staleness_max)};
    for (const auto& [name, member] : means) {
      const Mean mean = (summary.*member).value_or(Mean{});
      fields.push_back(mean.n > 0 ? number_or_blank(mean.mean) : "");
      fields.push_back(number_or_blank(mean.half_width));
      fields.push_back(std::to_string(mean.n));
    }
    fields.push_back(quoted(summary.failure));
    text += row(fields);
  }
  return text;
}

}  // namespace outpace::compare

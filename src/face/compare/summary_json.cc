#include "compare/summary_json.h"

#include <optional>

namespace outpace::compare {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json mean_json(const std::optional<Mean>& mean) {
  if (!mean) {
    return nullptr;
  }
  return {{"n", mean->n}, {"mean", mean->mean}, {"half_width", number_or_null(mean->half_width)}};
}

}  // namespace

ordered_json summary_json(const Config& config,
                          const std::vector<Cell>& cells,
                          const std::vector<Outcome>& outcomes) {
  ordered_json json{
      {"cells", cells.size()}, {"failed", ordered_json::array()}, {"rows", ordered_json::array()}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!outcomes[i].result) {
      json["failed"].push_back(
          {{"cell", name_of(config, cells[i])}, {"reason", outcomes[i].failure}});
    }
  }
  for (const Summary& summary : summaries_of(config, cells, outcomes)) {
    json["rows"].push_back({{"trace", config.traces[summary.trace].name},
                            {"name", config.rows[summary.row].name},
                            {"policy", config.rows[summary.row].policy},
                            {"seeds", summary.seeds},
                            {"finished", summary.finished},
                            {"reached", summary.reached},
                            {"examples_per_second", mean_json(summary.examples_per_second)},
                            {"seconds_to_target", mean_json(summary.seconds_to_target)},
                            {"final_accuracy", mean_json(summary.final_accuracy)},
                            {"staleness_mean", mean_json(summary.staleness_mean)},
                            {"staleness_max", number_or_null(summary.staleness_max)},
                            {"dropped_share", mean_json(summary.dropped)},
                            {"fairness", mean_json(summary.fairness)}});
  }
  return json;
}

}  // namespace outpace::compare

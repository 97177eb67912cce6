#include "throughput/sweep_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "base/text_table.h"
#include "base/wrapped.h"

namespace outpace::throughput {

std::string sweep_json(const Sweep& sweep) {
  nlohmann::ordered_json json;
  json["predictions"] = nlohmann::ordered_json::array();
  for (const ClusterPrediction& one : sweep.predictions) {
    nlohmann::ordered_json row;
    row["model"] = job::Value<job::PredictionModel>::text(one.model);
    row["workers"] = one.workers;
    row["policy"] = nullptr;
    if (!one.policy.empty()) {
      row["policy"] = one.policy;
    }
    row["topology"] = name(one.topology);
    row["shards"] = one.shards;
    row["local_steps"] = one.local_steps > 0 ? nlohmann::ordered_json(one.local_steps)
                                             : nlohmann::ordered_json(nullptr);
    row["can_run"] = one.shards <= 1;
    row["examples_per_second"] = one.rate.examples_per_second;
    row["low"] = one.rate.low;
    row["high"] = one.rate.high;
    row["bottleneck"] = name(one.bottleneck, one.topology);
    json["predictions"].push_back(std::move(row));
  }
  return json.dump() + "\n";
}

namespace {

struct Line {
  const ClusterPrediction* fine = nullptr;
  const ClusterPrediction* coarse = nullptr;

  [[nodiscard]] const ClusterPrediction& either() const {
    return fine != nullptr ? *fine : *coarse;
  }
};

// By kind and number of workers, in the order of the predictions.
std::vector<Line> lines_of(const Sweep& sweep) {
  std::map<std::tuple<std::string, std::uint32_t>, std::size_t> places;
  std::vector<Line> lines;
  for (const ClusterPrediction& one : sweep.predictions) {
    const auto place = places.emplace(std::tuple(kind_name(one), one.workers), lines.size());
    if (place.second) {
      lines.emplace_back();
    }
    Line& line = lines[place.first->second];
    (one.model == job::PredictionModel::kFine ? line.fine : line.coarse) = &one;
  }
  return lines;
}

// Without the columns of a model that was not asked.
TextTable table_of(const std::vector<Line>& lines) {
  const bool fine = std::ranges::any_of(lines, [](const Line& one) { return one.fine != nullptr; });
  const bool coarse =
      std::ranges::any_of(lines, [](const Line& one) { return one.coarse != nullptr; });
  std::vector<TextTable::Column> columns{{"policy", TextTable::Align::kLeft}, {"workers"}};
  if (fine) {
    columns.push_back({"fine ex/s"});
    columns.push_back({"95 %"});
  }
  if (coarse) {
    columns.push_back({fine ? "coarse" : "coarse ex/s"});
  }
  columns.push_back({"bottleneck", TextTable::Align::kLeft});
  TextTable table(std::move(columns));
  for (const Line& line : lines) {
    const ClusterPrediction& either = line.either();
    std::vector<std::string> cells{kind_name(either) + (either.shards > 1 ? " *" : ""),
                                   std::to_string(either.workers)};
    if (fine) {
      const Rate* const rate = line.fine != nullptr ? &line.fine->rate : nullptr;
      cells.push_back(rate != nullptr ? shown::rate(rate->examples_per_second) : "-");
      cells.push_back(rate != nullptr ? shown::rate(rate->low) + " to " + shown::rate(rate->high)
                                      : "-");
    }
    if (coarse) {
      cells.push_back(line.coarse != nullptr ? shown::rate(line.coarse->rate.examples_per_second)
                                             : "-");
    }
    cells.emplace_back(name(either.bottleneck, either.topology));
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace

std::string sweep_table(const Sweep& sweep) {
  std::string text = table_of(lines_of(sweep)).text();
  if (std::ranges::any_of(sweep.predictions, [](const auto& one) { return one.shards > 1; })) {
    text += wrapped(kNoShardsYet);
  }
  if (!sweep.packing.empty()) {
    text += wrapped("packed: " + sweep.packing);
  }
  std::set<std::string> said;  // By the first model that finds it.
  for (const std::vector<const ClusterPrediction*>& group : by_kind_and_model(sweep.predictions)) {
    const std::string kind = kind_name(*group.front());
    const auto enough = saturated(group);
    if (enough && said.insert(kind).second) {
      const ClusterPrediction& there = *group[*enough];
      text += wrapped(fmt::format(
          "{} is saturated at {} workers: it reaches 95 % of its maximum here, and its bottleneck "
          "is {}",
          kind,
          there.workers,
          name(there.bottleneck, there.topology)));
    }
  }
  return text;
}

}  // namespace outpace::throughput

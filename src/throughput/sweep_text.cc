#include "throughput/sweep_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "record/number_text.h"

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
    row["can_run"] = one.shards <= 1;
    row["examples_per_second"] = one.rate.examples_per_second;
    row["low"] = one.rate.low;
    row["high"] = one.rate.high;
    row["bottleneck"] = name(one.bottleneck, one.topology);
    json["predictions"].push_back(std::move(row));
  }
  return json.dump() + "\n";
}

std::string sweep_table(const Sweep& sweep) {
  std::string text;
  using Key = std::tuple<std::string, std::uint32_t>;
  std::map<Key, std::vector<const ClusterPrediction*>> lines;
  std::vector<Key> order;
  for (const ClusterPrediction& one : sweep.predictions) {
    const Key key{kind_name(one), one.workers};
    if (lines[key].empty()) {
      order.push_back(key);
    }
    lines[key].push_back(&one);
  }
  fmt::format_to(std::back_inserter(text),
                 "{:<28} {:>7} {:>12} {:>19} {:>12}  {}\n",
                 "",
                 "workers",
                 "fine ex/s",
                 "95 %",
                 "coarse ex/s",
                 "bottleneck");
  for (const Key& key : order) {
    std::string fine = fmt::format("{:>12} {:>19}", "-", "");
    std::string coarse = fmt::format("{:>12}", "-");
    for (const ClusterPrediction* one : lines[key]) {
      if (one->model == job::PredictionModel::kFine) {
        fine = fmt::format(
            "{:>12} {:>19}",
            record::plain_rate(one->rate.examples_per_second),
            record::plain_rate(one->rate.low) + " to " + record::plain_rate(one->rate.high));
      } else {
        coarse = fmt::format("{:>12}", record::plain_rate(one->rate.examples_per_second));
      }
    }
    const ClusterPrediction& first = *lines[key].front();
    fmt::format_to(std::back_inserter(text),
                   "{:<28} {:>7} {} {}  {}\n",
                   std::get<0>(key) + (first.shards > 1 ? " *" : ""),
                   first.workers,
                   fine,
                   coarse,
                   name(first.bottleneck, first.topology));
  }
  if (std::ranges::any_of(sweep.predictions, [](const auto& one) { return one.shards > 1; })) {
    text += kNoShardsYet;
  }
  std::set<std::string> said;  // By the first model that finds it.
  for (const std::vector<const ClusterPrediction*>& group : by_kind_and_model(sweep.predictions)) {
    const std::string kind = kind_name(*group.front());
    const auto enough = saturated(group);
    if (enough && said.insert(kind).second) {
      const ClusterPrediction& there = *group[*enough];
      fmt::format_to(
          std::back_inserter(text),
          "{} is saturated at {} workers: it reaches 95 % of its maximum here, and its bottleneck "
          "is {}\n",
          kind,
          there.workers,
          name(there.bottleneck, there.topology));
    }
  }
  return text;
}

}  // namespace outpace::throughput

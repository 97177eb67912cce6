#include "cli/predict_output.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "record/number_text.h"
#include "throughput/saturation.h"

namespace outpace::cli {

std::string kind_name(const ClusterPrediction& one) {
  std::string name = one.policy.empty() ? std::string(throughput::name(one.topology)) : one.policy;
  if (one.shards > 1) {
    name += fmt::format(", {} shards", one.shards);
  }
  return name;
}

std::vector<std::vector<const ClusterPrediction*>> by_kind_and_model(
    const std::vector<ClusterPrediction>& predictions) {
  std::vector<std::vector<const ClusterPrediction*>> groups;
  for (const ClusterPrediction& one : predictions) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.front()->model == one.model && kind_name(*group.front()) == kind_name(one);
    });
    if (same == groups.end()) {
      groups.push_back({&one});
    } else {
      same->push_back(&one);
    }
  }
  for (std::vector<const ClusterPrediction*>& group : groups) {
    std::stable_sort(
        group.begin(), group.end(), [](const ClusterPrediction* a, const ClusterPrediction* b) {
          return a->workers < b->workers;
        });
  }
  return groups;
}

std::optional<std::size_t> saturated(const std::vector<const ClusterPrediction*>& sweep) {
  std::vector<throughput::RateOf> rates;
  rates.reserve(sweep.size());
  for (const ClusterPrediction* const one : sweep) {
    rates.push_back({one->workers, one->rate.examples_per_second});
  }
  return throughput::saturated_at(rates);
}

void print_predictions_as_json(const std::vector<ClusterPrediction>& predictions) {
  nlohmann::ordered_json json;
  json["predictions"] = nlohmann::ordered_json::array();
  for (const ClusterPrediction& one : predictions) {
    nlohmann::ordered_json row;
    row["model"] = one.model;
    row["workers"] = one.workers;
    row["policy"] = nullptr;
    if (!one.policy.empty()) {
      row["policy"] = one.policy;
    }
    row["topology"] = throughput::name(one.topology);
    row["shards"] = one.shards;
    row["examples_per_second"] = one.rate.examples_per_second;
    row["low"] = one.rate.low;
    row["high"] = one.rate.high;
    row["bottleneck"] = throughput::name(one.bottleneck, one.topology);
    json["predictions"].push_back(std::move(row));
  }
  fmt::print("{}\n", json.dump());
}

void print_predictions(const std::vector<ClusterPrediction>& predictions) {
  using Key = std::tuple<std::string, std::uint32_t>;
  std::map<Key, std::vector<const ClusterPrediction*>> lines;
  std::vector<Key> order;
  for (const ClusterPrediction& one : predictions) {
    const Key key{kind_name(one), one.workers};
    if (lines[key].empty()) {
      order.push_back(key);
    }
    lines[key].push_back(&one);
  }
  fmt::print("{:<28} {:>7} {:>12} {:>19} {:>12}  {}\n",
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
      if (one->model == "fine") {
        fine = fmt::format(
            "{:>12} {:>19}",
            record::plain_rate(one->rate.examples_per_second),
            record::plain_rate(one->rate.low) + " to " + record::plain_rate(one->rate.high));
      } else {
        coarse = fmt::format("{:>12}", record::plain_rate(one->rate.examples_per_second));
      }
    }
    const ClusterPrediction& first = *lines[key].front();
    fmt::print("{:<28} {:>7} {} {}  {}\n",
               std::get<0>(key),
               first.workers,
               fine,
               coarse,
               throughput::name(first.bottleneck, first.topology));
  }
  std::set<std::string> said;  // By the first model that finds it.
  for (const std::vector<const ClusterPrediction*>& sweep : by_kind_and_model(predictions)) {
    const std::string kind = kind_name(*sweep.front());
    const auto enough = saturated(sweep);
    if (enough && said.insert(kind).second) {
      const ClusterPrediction& there = *sweep[*enough];
      fmt::print(
          "{} is saturated at {} workers: 95 % of the most that it reaches here; then it is "
          "the {}\n",
          kind,
          there.workers,
          throughput::name(there.bottleneck, there.topology));
    }
  }
}

}  // namespace outpace::cli

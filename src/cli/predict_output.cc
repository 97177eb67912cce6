#include "cli/predict_output.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace outpace::cli {
namespace {

std::string row_name(const Prediction& one) {
  std::string name = one.policy.empty() ? std::string(throughput::name(one.topology)) : one.policy;
  if (one.shards > 1) {
    name += fmt::format(", {} shards", one.shards);
  }
  return name;
}

}  // namespace

void print_predictions_as_json(const std::vector<Prediction>& predictions) {
  nlohmann::ordered_json json;
  json["predictions"] = nlohmann::ordered_json::array();
  for (const Prediction& one : predictions) {
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

void print_predictions(const std::vector<Prediction>& predictions) {
  using Key = std::tuple<std::string, std::uint32_t>;
  std::map<Key, std::vector<const Prediction*>> lines;
  std::map<std::string, std::vector<const Prediction*>> kinds;
  std::vector<Key> order;
  for (const Prediction& one : predictions) {
    const Key key{row_name(one), one.workers};
    if (lines[key].empty()) {
      order.push_back(key);
    }
    lines[key].push_back(&one);
    if (one.model == predictions.front().model) {
      kinds[row_name(one)].push_back(&one);
    }
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
    for (const Prediction* one : lines[key]) {
      if (one->model == "fine") {
        fine = fmt::format("{:>12.0f} {:>19}",
                           one->rate.examples_per_second,
                           fmt::format("{:.0f} to {:.0f}", one->rate.low, one->rate.high));
      } else {
        coarse = fmt::format("{:>12.0f}", one->rate.examples_per_second);
      }
    }
    const Prediction& first = *lines[key].front();
    fmt::print("{:<28} {:>7} {} {}  {}\n",
               std::get<0>(key),
               first.workers,
               fine,
               coarse,
               throughput::name(first.bottleneck, first.topology));
  }
  constexpr double kNearlyAll = 0.95;
  for (const auto& [kind, sweep] : kinds) {
    const auto best = std::max_element(sweep.begin(), sweep.end(), [](auto* a, auto* b) {
      return a->rate.examples_per_second < b->rate.examples_per_second;
    });
    const auto enough = std::find_if(sweep.begin(), sweep.end(), [&](auto* one) {
      return one->rate.examples_per_second >= kNearlyAll * (*best)->rate.examples_per_second;
    });
    if (sweep.size() > 1 && enough + 1 != sweep.end()) {
      fmt::print(
          "{} is saturated at {} workers: 95 % of the most that it reaches here; then it is "
          "the {}\n",
          kind,
          (*enough)->workers,
          throughput::name((*enough)->bottleneck, (*enough)->topology));
    }
  }
}

}  // namespace outpace::cli

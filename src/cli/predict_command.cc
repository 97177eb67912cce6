#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predict_cluster.h"
#include "cli/predict_table.h"
#include "throughput/profile_json.h"

namespace outpace::cli {
namespace {

struct PredictOptions {
  std::string profile;
  std::string configurations;
  WorkersOptions of_table;  // For a calibrated profile: how workers are spread over nodes.
  PredictClusterOptions cluster;
  bool json = false;
};

// An option of which a calibrated profile takes one value at most.
std::string one_of(const std::vector<std::string>& values, const std::string& option) {
  if (values.size() > 1) {
    throw usage_error("--" + option + " is given " + std::to_string(values.size()) +
                      " times; with a calibrated profile it takes one value");
  }
  return values.empty() ? "" : values.front();
}

int predict_calibrated(const PredictOptions& options, const nlohmann::json& parsed) {
  const throughput::CalibratedProfile profile =
      throughput::calibrated_profile(parsed, options.profile);
  if (options.configurations.empty() == options.cluster.workers.empty()) {
    throw usage_error("predict takes --configurations TABLE.csv or --workers 1..64: one of them");
  }
  if (!options.configurations.empty()) {
    return predict_table(profile, options.configurations, options.json);
  }
  WorkersOptions workers = options.of_table;
  workers.workers = options.cluster.workers;
  workers.policy = one_of(options.cluster.policies, "policy");
  workers.topology = one_of(options.cluster.topologies, "topology");
  return predict_workers(profile, workers, options.json);
}

// Options that only one kind of profile has are refused with the other.
void check_kind(const PredictOptions& options, const std::string& kind, const Origins& origins) {
  const bool calibrated = kind == throughput::kCalibrated;
  if (!calibrated && kind != throughput::kMeasured) {
    throw usage_error(options.profile + " is of an unknown kind, '" + kind +
                      "'; known: measured, calibrated");
  }
  std::vector<std::string> others{"configurations", "nodes", "workers-per-node", "batch"};
  if (calibrated) {
    others = modelled_cluster_option_names();
    others.insert(others.end(), {"shards", "models", "plot"});
  }
  for (const std::string& other : others) {
    if (origins.contains(other)) {
      throw usage_error(
          fmt::format("--{} does not go with a {} profile; it is for one that outpace {} wrote",
                      other,
                      kind,
                      calibrated ? "profile" : "calibrate"));
    }
  }
}

int predict(const PredictOptions& options, const Origins& origins) {
  const std::string text = read_file("profile", options.profile);
  const nlohmann::json parsed = throughput::parse_profile(text, options.profile);
  const std::string kind = throughput::kind_of(parsed, options.profile);
  check_kind(options, kind, origins);
  if (kind == throughput::kCalibrated) {
    return predict_calibrated(options, parsed);
  }
  PredictClusterOptions cluster = options.cluster;
  cluster.json = options.json;
  const auto profile = throughput::MeasuredProfile::parse(text, options.profile);
  if (const std::string caveat = profile.caveat(); !caveat.empty()) {
    fmt::print(stderr, "outpace: {}\n", caveat);
  }
  return predict_cluster(profile, cluster);
}

void add_table_options(job::OptionList& list, PredictOptions& options) {
  list.add("configurations",
                     options.configurations,
                     "CSV with the columns workers, nodes, batch_per_worker; where "
                     "iteration_seconds stands too, the errors are shown");
  auto* nodes =
      list.add("nodes", options.of_table.nodes, "With --workers: on so many nodes")
          .between(1, 1'000'000U);
  list.add("workers-per-node",
                  options.of_table.workers_per_node,
                  "With --workers: so many a node (default: the most that were measured)")
      .between(1, 1'000'000U)
      ->excludes(nodes);
  list.add("batch", options.of_table.batch, "With --workers: examples of a worker's mini-batch");
}

}  // namespace

Run add_predict(job::OptionList& list) {
  auto options = std::make_shared<PredictOptions>();
  list.add_positional("profile", options->profile, "What outpace profile measured, or outpace calibrate found")
      .required();
  add_predict_cluster_options(command, options->cluster);
  add_table_options(command, *options);
  list.add("json", options->json, "Print one JSON object on standard output");
  return [options](const job::OptionList& chosen) {
    return predict(*options, origins);
  };
}

}  // namespace outpace::cli

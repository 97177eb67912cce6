#include "cli/plan_options.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace outpace::cli {
namespace {

constexpr double kCostLeast = 1e-9;
constexpr double kCostMost = 1e12;

void check_costs(const PlanOptions& options) {
  if (!(options.worker_cost >= kCostLeast && options.worker_cost <= kCostMost)) {  // Nor NaN.
    throw usage_error(
        fmt::format("--worker-cost is {:g}; it takes a cost an hour from {:g} to {:g}",
                    options.worker_cost,
                    kCostLeast,
                    kCostMost));
  }
  if (!(options.server_cost >= 0.0 && options.server_cost <= kCostMost)) {
    throw usage_error(fmt::format("--server-cost is {:g}; it takes a cost an hour from 0 to {:g}",
                                  options.server_cost,
                                  kCostMost));
  }
}

void check_above_zero(const char* option, double value, const char* what) {
  if (!(std::isfinite(value) && value > 0.0)) {  // Nor NaN.
    throw usage_error(fmt::format("--{} is {:g}; it takes {} above 0", option, value, what));
  }
}

double noise_scale_of_run(const std::string& run) {
  const std::string path = (std::filesystem::path(run) / "summary.json").string();
  const nlohmann::json json =
      nlohmann::json::parse(read_file("noise-from", path), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("gradient_noise_scale")) {
    throw usage_error("--noise-from: " + path +
                      " is no summary of a run, or of one before gradient_noise_scale was kept");
  }
  const nlohmann::json& scale = json["gradient_noise_scale"];
  if (!scale.is_number() || !(scale.get<double>() > 0.0)) {
    throw usage_error("--noise-from: " + path +
                      " has no gradient_noise_scale; --policy dynamic:objective=progress measures "
                      "it");
  }
  return scale.get<double>();
}

}  // namespace

void add_plan_options(job::OptionList& list, PlanOptions& options) {
  list.add_positional("profile", options.profile, "What outpace profile measured, or outpace calibrate found")
      .required();
  list.add("workers", options.workers, "8, 1,2,4 or 1..64");
  list.add("policy",
                  options.policies,
                  "As in train: sync,async,backup:cutoff=90% (of the workers); repeatable "
                  "(default: sync,async)")
      ;
  list.add("topology", options.topologies, "ps, ring or gossip (repeatable; default: ps)")
      .separated_by(',')
      ;
  list.add("shards", options.shards, "Of the server, each on a host: 1 or 1..4");
  list.add("worker-cost", options.worker_cost, "Of a worker's host, an hour");
  list.add("server-cost",
                     options.server_cost,
                     "Of the host of a server's shard, an hour; 0 if it is on a worker's");
  list.add("objective",
                     options.objective,
                     "rate: most examples a second; cost: most examples for the cost; goodput: as "
                     "rate, each example by what it is worth to learning");
  list.add("target",
                     options.target,
                     "Examples a second, or of goodput, to be reached as cheaply as it can");
  list.add("noise-scale", options.noise_scale, "For goodput: the gradient's noise scale, in examples");
  list.add("noise-from",
                  options.noise_from,
                  "For goodput: the directory of a run that measured it")
      ;
  list.add("top", options.top, "Show so many").between(1, 1000U);
  add_modelled_cluster_options(command, options.cluster);
  list.add("workers-per-node",
                  options.of_table.workers_per_node,
                  "Of a calibrated profile: so many a node (default: the most that were measured)")
      .between(1, 1'000'000U);
  list.add("batch",
                     options.of_table.batch,
                     "Of a calibrated profile: examples of a worker's mini-batch");
  list.add("json", options.json, "Print one JSON object on standard output");
}

void check_plan_options(PlanOptions& options) {
  if (options.objective != "rate" && options.objective != "cost" &&
      options.objective != "goodput") {
    throw usage_error("--objective is '" + options.objective + "'; it takes rate, cost or goodput");
  }
  check_costs(options);
  if (options.target) {
    check_above_zero("target", *options.target, "a number of examples a second");
  }
  const bool noise_is_given = options.noise_scale.has_value() || !options.noise_from.empty();
  if (options.noise_scale && !options.noise_from.empty()) {
    throw usage_error("--noise-scale beside --noise-from: both say the same; leave one out");
  }
  if (options.objective != "goodput" && noise_is_given) {
    throw usage_error(fmt::format("--{} goes with --objective goodput; the objective is {}",
                                  options.noise_scale ? "noise-scale" : "noise-from",
                                  options.objective));
  }
  if (options.objective != "goodput") {
    return;
  }
  if (!noise_is_given) {
    throw usage_error(
        "--objective goodput takes the gradient's noise scale: --noise-scale 850, in examples, or "
        "--noise-from RUN");
  }
  if (!options.noise_from.empty()) {
    options.noise_scale = noise_scale_of_run(options.noise_from);
  }
  check_above_zero("noise-scale", *options.noise_scale, "a number of examples");
}

}  // namespace outpace::cli

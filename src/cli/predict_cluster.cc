#include "cli/predict_cluster.h"

#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/cluster_model.h"
#include "cli/count_list.h"
#include "cli/policy_list.h"
#include "cli/predict_output.h"
#include "cli/predict_plot.h"

namespace outpace::cli {
namespace {

using throughput::MeasuredProfile;
using throughput::Topology;

// All that is asked of one number of workers.
class Sweep {
 public:
  Sweep(const MeasuredProfile& profile, const PredictClusterOptions& options)
      : model_(profile, options.cluster),
        models_(options.models),
        policies_(options.policies.empty() ? std::vector<std::string>{"sync", "async"}
                                           : split_policies(options.policies)),
        shards_(parse_count_list("shards", options.shards, kClusterShardsMost)) {
    for (const std::string& topology : options.topologies) {
      topologies_.push_back(parse_topology(topology));
    }
    if (topologies_.empty()) {
      topologies_ = {Topology::kServer};
    }
  }

  void predict(std::uint32_t count, std::vector<ClusterPrediction>& out) {
    const ModelledWorkers workers = model_.workers(count);
    computing_alone_.push_back({static_cast<double>(count), model_.computing_alone(workers)});
    for (const Topology topology : topologies_) {
      if (topology != Topology::kServer) {
        answer({"", topology, 1}, workers, out);
        continue;
      }
      for (const std::string& policy : policies_) {
        if (!is_possible(policy, count)) {
          continue;
        }
        for (const std::uint32_t shards : shards_) {
          answer({policy, topology, shards}, workers, out);
        }
      }
    }
  }

  // Policies that some number of workers is too small for, in words.
  [[nodiscard]] const std::map<std::string, std::string>& left_out() const { return left_out_; }
  [[nodiscard]] const std::vector<plot::Point>& computing_alone() const { return computing_alone_; }

 private:
  bool is_possible(const std::string& policy, std::uint32_t workers) {
    try {
      (void)throughput::barrier_of(Spec::parse(policy), workers);
      return true;
    } catch (const Error& error) {
      left_out_.emplace(policy, error.what());
      return false;
    }
  }

  void answer(const ClusterKind& kind,
              const ModelledWorkers& workers,
              std::vector<ClusterPrediction>& out) const {
    const throughput::CoarseCluster cluster = model_.coarse_cluster(kind, workers);
    const throughput::Bottleneck bottleneck =
        throughput::find_bottleneck(cluster, workers.computing);
    for (const std::string& name : models_) {
      const ThroughputEstimate found =
          name == "coarse" ? model_.coarse(cluster, workers) : model_.fine(kind, workers);
      out.push_back(
          {name, workers.count(), kind.policy, kind.topology, kind.shards, found.rate, bottleneck});
    }
  }

  const ClusterModel model_;
  const std::vector<std::string> models_;
  const std::vector<std::string> policies_;
  const std::vector<std::uint32_t> shards_;
  std::vector<Topology> topologies_;
  std::map<std::string, std::string> left_out_;
  std::vector<plot::Point> computing_alone_;  // Examples a second, by number of workers.
};

void check_models(const PredictClusterOptions& options) {
  for (const std::string& model : options.models) {
    if (model != "fine" && model != "coarse") {
      throw usage_error("--models is '" + model + "'; it takes fine, coarse or both");
    }
  }
}

}  // namespace

void add_predict_cluster_options(CLI::App& command, PredictClusterOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--workers", options.workers, "8, 1,2,4 or 1..64 (default: 1..16)");
  command
      .add_option("--policy",
                  options.policies,
                  "As in train: sync,async,ssp:s=3 (repeatable; default: sync,async)")
      ->default_str("");
  command
      .add_option("--topology", options.topologies, "ps, ring or gossip (repeatable; default: ps)")
      ->delimiter(',');
  command.add_option("--shards", options.shards, "Of the server: 1 or 1..4");
  command.add_option("--models", options.models, "fine, coarse or both")->delimiter(',');
  add_modelled_cluster_options(command, options.cluster);
  command.add_option("--plot", options.plot, "Draw the predictions to this SVG")->default_str("");
}

int predict_cluster(const MeasuredProfile& profile, const PredictClusterOptions& options) {
  check_models(options);
  Sweep sweep(profile, options);
  std::vector<ClusterPrediction> predictions;
  for (const std::uint32_t workers : parse_count_list(
           "workers", options.workers.empty() ? "1..16" : options.workers, kClusterWorkersMost)) {
    sweep.predict(workers, predictions);
  }
  for (const auto& [policy, why] : sweep.left_out()) {
    if (predictions.empty()) {
      throw usage_error(fmt::format("--policy {}: {}", policy, why));
    }
    fmt::print(stderr, "outpace: left out where it is not possible: {}\n", why);
  }
  if (!options.plot.empty()) {
    write_prediction_plot(
        options.plot, predictions, sweep.computing_alone(), {profile.network, profile.batch});
  }
  if (options.json) {
    print_predictions_as_json(predictions);
  } else {
    print_predictions(predictions);
  }
  return 0;
}

}  // namespace outpace::cli

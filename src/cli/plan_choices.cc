#include "cli/plan_choices.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/cluster_model.h"
#include "cli/count_list.h"
#include "cli/policy_list.h"
#include "throughput/predict.h"

namespace outpace::cli {
namespace {

using throughput::Topology;

constexpr double kMarginOfCoarse = 0.1;

double cost_of(const PlanOptions& options, std::uint32_t workers, std::uint32_t servers) {
  return workers * options.worker_cost + servers * options.server_cost;
}

void check_count(std::size_t choices) {
  if (choices > kPlanChoicesMost) {
    throw usage_error(fmt::format(
        "--workers, --policy, --topology and --shards make more than {} configurations; leave some "
        "out, such as --workers 1,2,4,8,16,32",
        kPlanChoicesMost));
  }
}

void check_that_some_are_left(const PlanChoices& choices) {
  if (choices.rows.empty() && !choices.left_out.empty()) {
    throw usage_error(fmt::format("nothing to choose from: {}", choices.left_out.begin()->second));
  }
}

// ---- By a measured profile ----------------------------------------------------------------------

std::vector<Topology> topologies_of(const PlanOptions& options) {
  std::vector<Topology> topologies;
  topologies.reserve(options.topologies.size());
  for (const std::string& topology : options.topologies) {
    topologies.push_back(parse_topology(topology));
  }
  if (topologies.empty()) {
    topologies.push_back(Topology::kServer);
  }
  return topologies;
}

// The combinations of the options but for workers.
std::vector<ClusterKind> kinds_of(const PlanOptions& options) {
  std::vector<std::string> policies = split_policies(options.policies);
  if (policies.empty()) {
    policies = {"sync", "async"};
  }
  const std::vector<std::uint32_t> shards =
      parse_count_list("shards", options.shards, kClusterShardsMost);
  std::vector<ClusterKind> kinds;
  for (const Topology topology : topologies_of(options)) {
    if (topology != Topology::kServer) {
      kinds.push_back({"", topology, 0});
      continue;
    }
    for (const std::string& policy : policies) {
      for (const std::uint32_t count : shards) {
        kinds.push_back({policy, topology, count});
      }
    }
  }
  return kinds;
}

class MeasuredChoices {
 public:
  MeasuredChoices(const throughput::MeasuredProfile& profile, const PlanOptions& options)
      : options_(options), model_(profile, options.cluster) {}

  void add(const ModelledWorkers& workers, const ClusterKind& kind, PlanChoices& choices) {
    const ClusterKind here{policy_for(kind.policy, workers.count()), kind.topology, kind.shards};
    try {
      const throughput::CoarseCluster cluster = model_.coarse_cluster(here, workers);
      choices.rows.push_back(
          row_of(here, workers.count(), "coarse", model_.coarse(cluster, workers)));
      kinds_.push_back(here);
      possible_.insert(kind.policy);
    } catch (const Error& error) {
      choices.left_out.emplace(kind.policy, error.what());
    }
  }

  [[nodiscard]] PlanRow verify(const PlanRow& row, std::size_t i) const {
    const ClusterKind& kind = kinds_.at(i);
    const ModelledWorkers workers = model_.workers(row.workers);
    const throughput::CoarseCluster cluster = model_.coarse_cluster(kind, workers);
    PlanRow verified = row_of(kind, row.workers, "fine", model_.fine(kind, workers));
    verified.bottleneck =
        throughput::name(throughput::find_bottleneck(cluster, workers.computing), kind.topology);
    return verified;
  }

  // Throws a usage error about a policy that is possible with no number of workers.
  void check_policies(const PlanChoices& choices) const {
    for (const auto& [policy, why] : choices.left_out) {
      if (!possible_.contains(policy)) {
        throw usage_error(fmt::format("--policy {}: {}", policy, why));
      }
    }
  }

  [[nodiscard]] const ClusterModel& model() const { return model_; }

 private:
  [[nodiscard]] PlanRow row_of(const ClusterKind& kind,
                               std::uint32_t workers,
                               const char* model,
                               const ThroughputEstimate& modelled) const {
    PlanRow row{.model = model,
                .policy = kind.policy,
                .topology = std::string(throughput::name(kind.topology)),
                .workers = workers,
                .shards = kind.shards,
                .examples_per_second = modelled.rate.examples_per_second,
                .mixed_examples = modelled.mixed_examples,
                .cost = cost_of(options_, workers, kind.shards)};
    if (row.model == "fine") {
      row.low = modelled.rate.low;
      row.high = modelled.rate.high;
    }
    return row;
  }

  const PlanOptions& options_;
  const ClusterModel model_;
  std::vector<ClusterKind> kinds_;  // Of each choice.
  std::set<std::string> possible_;  // Policies, as they were asked for.
};

// ---- By a calibrated profile --------------------------------------------------------------------

struct CalibratedKind {
  std::string policy;
  std::string topology;

  auto operator<=>(const CalibratedKind&) const = default;
};

bool is_asked_for(const std::vector<std::string>& asked, const std::string& name) {
  return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
}

// Of the groups; what is asked for besides is left out, with a reason.
std::vector<CalibratedKind> calibrated_kinds(const throughput::CalibratedProfile& profile,
                                             const PlanOptions& options,
                                             PlanChoices& choices) {
  const std::vector<std::string> policies = split_policies(options.policies);
  std::vector<CalibratedKind> kinds;
  std::set<std::string> known{};
  for (const throughput::CalibratedGroup& group : profile.groups) {
    known.insert({group.policy, group.topology});
    if (is_asked_for(policies, group.policy) && is_asked_for(options.topologies, group.topology)) {
      kinds.push_back({group.policy, group.topology});
    }
  }
  for (const std::vector<std::string>& asked : {policies, options.topologies}) {
    for (const std::string& name : asked) {
      if (!known.contains(name)) {
        choices.left_out.emplace(name, "'" + name + "' was not calibrated");
      }
    }
  }
  return kinds;
}

double mixed_by_policy(const CalibratedKind& kind, const throughput::Configuration& at) {
  const double all = at.workers * at.batch_per_worker;
  if (kind.policy.empty()) {
    return all;
  }
  const throughput::Barrier found = throughput::barrier_of(Spec::parse(kind.policy), at.workers);
  return found.cutoff > 0 ? found.cutoff * at.batch_per_worker : all;
}

PlanRow calibrated_row(const CalibratedKind& kind,
                       const throughput::Configuration& at,
                       const throughput::IterationPrediction& prediction) {
  const double examples = at.workers * at.batch_per_worker;
  PlanRow row{.model = "calibrated",
              .policy = kind.policy,
              .topology = kind.topology,
              .workers = at.workers,
              .examples_per_second = examples / *prediction.seconds,
              .mixed_examples = mixed_by_policy(kind, at),
              .bottleneck = prediction.sync_bound ? "sync" : "compute",
              .warnings = prediction.warnings};
  row.high = examples / prediction.low;
  if (prediction.high) {
    row.low = examples / *prediction.high;
  }
  return row;
}

}  // namespace

PlanChoices choices_of_measured(const throughput::MeasuredProfile& profile,
                                const PlanOptions& options) {
  const std::vector<ClusterKind> kinds = kinds_of(options);
  const std::vector<std::uint32_t> counts =
      parse_count_list("workers", options.workers, kClusterWorkersMost);
  check_count(kinds.size() * counts.size());
  const auto measured = std::make_shared<MeasuredChoices>(profile, options);
  PlanChoices choices{.rows = {},
                      .verify = {},
                      .margin = kMarginOfCoarse,
                      .batch = static_cast<double>(profile.batch),
                      .left_out = {}};
  choices.rows.reserve(kinds.size() * counts.size());
  for (const std::uint32_t count : counts) {
    const ModelledWorkers workers = measured->model().workers(count);
    for (const ClusterKind& kind : kinds) {
      measured->add(workers, kind, choices);
    }
  }
  measured->check_policies(choices);
  choices.verify = [measured, rows = choices.rows](std::size_t i) {
    return measured->verify(rows.at(i), i);
  };
  return choices;
}

PlanChoices choices_of_calibrated(const throughput::CalibratedProfile& profile,
                                  const PlanOptions& options) {
  PlanChoices choices;
  WorkersOptions workers = options.of_table;
  workers.workers = options.workers;
  const std::vector<CalibratedKind> kinds = calibrated_kinds(profile, options, choices);
  for (const CalibratedKind& kind : kinds) {
    workers.policy = kind.policy;
    workers.topology = kind.topology;
    for (const throughput::Row& asked : rows_of_workers(profile, workers)) {
      const throughput::IterationPrediction prediction =
          throughput::predict(profile, asked.configuration);
      if (!prediction.seconds) {
        choices.left_out.emplace(prediction.refusal, prediction.refusal);
        continue;
      }
      choices.batch = asked.configuration.batch_per_worker;
      PlanRow row = calibrated_row(kind, asked.configuration, prediction);
      row.cost = cost_of(options, row.workers, kind.topology == "ps" ? 1 : 0);
      choices.rows.push_back(std::move(row));
    }
    check_count(choices.rows.size());
  }
  check_that_some_are_left(choices);
  choices.verify = [rows = choices.rows](std::size_t i) { return rows.at(i); };
  return choices;
}

}  // namespace outpace::cli

#include "throughput/plan_choices.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "job/policy_list.h"
#include "throughput/cluster_kinds.h"
#include "throughput/cluster_model.h"
#include "throughput/placing.h"
#include "throughput/predict.h"

namespace outpace::throughput {
namespace {

constexpr double kMarginOfCoarse = 0.1;
// Transfers take at most as long as what they hide behind, and two workers that come out of phase
// are at most twice as fast.
constexpr double kMarginWithLinks = 1.0;

double cost_of(const job::PlanJob& job, std::uint32_t workers, std::uint32_t servers) {
  return workers * job.worker_cost + servers * job.server_cost;
}

void check_count(std::size_t choices) {
  if (choices > kPlanChoicesMost) {
    throw usage_error(
        fmt::format("--workers, --policy, --topology, --shards and --local-steps make more than {} "
                    "configurations; give fewer, such as --workers 1,2,4,8,16,32",
                    kPlanChoicesMost));
  }
}

void check_that_some_are_left(const PlanChoices& choices) {
  if (choices.rows.empty() && !choices.left_out.empty()) {
    throw usage_error(fmt::format("nothing to choose from: {}", choices.left_out.begin()->second));
  }
}

class MeasuredChoices {
 public:
  MeasuredChoices(const MeasuredProfile& profile,
                  const job::PlanJob& job,
                  const job::ReadFile& read_file)
      : job_(job), model_(profile, job.cluster, read_file) {}

  void add(const ModelledWorkers& workers, const ClusterKind& kind, PlanChoices& choices) {
    ClusterKind here = kind;
    here.policy = job::policy_for(kind.policy, workers.count());
    if (const auto why = too_few_workers(here, workers.count())) {
      choices.left_out.emplace(name_of_kind(kind), *why);
      return;
    }
    try {
      const CoarseCluster cluster = model_.coarse_cluster(here, workers);
      const bool modelled = is_modelled(cluster);
      choices.rows.push_back(
          row_of(here,
                 workers.count(),
                 "coarse",
                 modelled ? model_.coarse(cluster, workers)
                          : ThroughputEstimate{.rate = {0.0, 0.0, 0.0}, .mixed_examples = 1.0}));
      choices.rows.back().is_modelled = modelled;
      kinds_.push_back(here);
      possible_.insert(name_of_kind(kind));
      with_server_ = with_server_ || kind.topology == Topology::kServer;
      choices.packing = model_.packing().words(with_server_);
      if (kind.topology == Topology::kGossip) {
        choices.caveat = model_.caveat_of_gossip();
      }
    } catch (const Error& error) {
      choices.left_out.emplace(kind.policy, error.what());
    }
  }

  [[nodiscard]] PlanRow verify(const PlanRow& row, std::size_t i) const {
    const ClusterKind& kind = kinds_.at(i);
    const ModelledWorkers workers = model_.stepping(model_.workers(row.workers), kind.local_steps);
    const CoarseCluster cluster = model_.coarse_cluster(kind, workers);
    PlanRow verified = row_of(kind, row.workers, "fine", model_.fine(kind, workers));
    verified.bottleneck = name(find_bottleneck(cluster, workers.computing), kind.topology);
    return verified;
  }

  // Throws a usage error about a policy that is possible with no number of workers.
  void check_policies(const PlanChoices& choices) const {
    for (const auto& [policy, why] : choices.left_out) {
      if (!possible_.contains(policy)) {
        const char* const option = policy == name(Topology::kGossip) ? "topology" : "policy";
        throw usage_error(fmt::format("--{} {}: {}", option, policy, why));
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
                .topology = std::string(name(kind.topology)),
                .workers = workers,
                .shards = kind.shards,
                .local_steps = kind.local_steps,
                .examples_per_second = modelled.rate.examples_per_second,
                .mixed_examples = modelled.mixed_examples,
                .cost = cost_of(job_, workers, kind.shards)};
    if (row.model == "fine") {
      row.low = modelled.rate.low;
      row.high = modelled.rate.high;
    }
    return row;
  }

  const job::PlanJob& job_;
  const ClusterModel model_;
  std::vector<ClusterKind> kinds_;  // One for each choice.
  std::set<std::string> possible_;  // Policies, as they were asked for.
  bool with_server_ = false;        // One of the choices has one.
};

struct CalibratedKind {
  std::string policy;
  std::string topology;

  auto operator<=>(const CalibratedKind&) const = default;
};

bool is_asked_for(const std::vector<std::string>& asked, const std::string& name) {
  return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
}

// Those of the groups that are asked for. Anything else that is asked for is left out, with a
// reason.
std::vector<CalibratedKind> calibrated_kinds(const CalibratedProfile& profile,
                                             const job::PlanJob& job,
                                             PlanChoices& choices) {
  const std::vector<std::string> policies = job::split_policies(job.policies);
  std::vector<CalibratedKind> kinds;
  std::set<std::string> known{};
  for (const CalibratedGroup& group : profile.groups) {
    known.insert({group.policy, group.topology});
    if (is_asked_for(policies, group.policy) && is_asked_for(job.topologies, group.topology)) {
      kinds.push_back({group.policy, group.topology});
    }
  }
  for (const std::vector<std::string>& asked : {policies, job.topologies}) {
    for (const std::string& name : asked) {
      if (!known.contains(name)) {
        choices.left_out.emplace(name, "'" + name + "' was not calibrated");
      }
    }
  }
  return kinds;
}

double mixed_by_policy(const CalibratedKind& kind, const Configuration& at) {
  const double all = at.workers * at.batch_per_worker;
  if (kind.policy.empty()) {
    return all;
  }
  const Barrier found = barrier_of(Spec::parse(kind.policy), at.workers);
  // Out of step, gradients of all workers are in flight.
  return found.cutoff > 0 && !is_out_of_step(found.kind) ? found.cutoff * at.batch_per_worker : all;
}

PlanRow calibrated_row(const CalibratedKind& kind,
                       const Configuration& at,
                       const IterationPrediction& prediction) {
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

PlanChoices choices_of_measured(const MeasuredProfile& profile,
                                const job::PlanJob& job,
                                const job::ReadFile& read_file) {
  const std::vector<ClusterKind> kinds = cluster_kinds(topologies_of(job.topologies),
                                                       job::policies_in_force(job.policies),
                                                       job.shards.counts,
                                                       steps_of(job.cluster));
  const std::vector<std::uint32_t>& counts = job.workers.counts;
  check_count(kinds.size() * counts.size());
  // Shared, for std::function copies what it calls.
  const auto measured = std::make_shared<MeasuredChoices>(profile, job, read_file);
  PlanChoices choices{.rows = {},
                      .verify = {},
                      .margin = measured->model().has_links() ? kMarginWithLinks : kMarginOfCoarse,
                      .batch = static_cast<double>(profile.batch),
                      .left_out = {}};
  choices.rows.reserve(kinds.size() * counts.size());
  for (const std::uint32_t count : counts) {
    const ModelledWorkers workers = measured->model().workers(count);
    for (const ClusterKind& kind : kinds) {
      measured->add(measured->model().stepping(workers, kind.local_steps), kind, choices);
    }
  }
  measured->check_policies(choices);
  choices.verify = [measured, rows = choices.rows](std::size_t i) {
    return measured->verify(rows.at(i), i);
  };
  return choices;
}

PlanChoices choices_of_calibrated(const CalibratedProfile& profile, const job::PlanJob& job) {
  PlanChoices choices;
  for (const CalibratedKind& kind : calibrated_kinds(profile, job, choices)) {
    for (const Row& asked : place_workers(profile,
                                          {.counts = job.workers.counts,
                                          .placing = job.placing,
                                          .policy = kind.policy,
                                          .topology = kind.topology})) {
      const IterationPrediction prediction = predict(profile, asked.configuration);
      if (!prediction.seconds) {
        choices.left_out.emplace(prediction.refusal, prediction.refusal);
        continue;
      }
      choices.batch = asked.configuration.batch_per_worker;
      PlanRow row = calibrated_row(kind, asked.configuration, prediction);
      row.cost = cost_of(job, row.workers, kind.topology == "ps" ? 1 : 0);
      choices.rows.push_back(std::move(row));
    }
    check_count(choices.rows.size());
  }
  check_that_some_are_left(choices);
  choices.verify = [rows = choices.rows](std::size_t i) { return rows.at(i); };
  return choices;
}

}  // namespace outpace::throughput

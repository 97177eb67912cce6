#include "throughput/sweep.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "throughput/cluster_kinds.h"
#include "throughput/cluster_model.h"
#include "throughput/operations.h"
#include "throughput/operations_trace.h"
#include "throughput/saturation.h"

namespace outpace::throughput {
namespace {

constexpr const char* kNotByCoarse =
    "the coarse model does not know a policy that changes in the run, nor the parts that workers "
    "hand in of their local steps; use --models fine";

bool is_possible(const ClusterKind& kind, std::uint32_t workers, Sweep& sweep) {
  if (const auto why = too_few_workers(kind, workers)) {
    sweep.left_out.emplace(name_of_kind(kind), *why);
    return false;
  }
  if (kind.topology != Topology::kServer) {
    return true;
  }
  try {
    (void)barrier_of(Spec::parse(kind.policy), workers);
    return true;
  } catch (const Error& error) {
    sweep.left_out.emplace(kind.policy, error.what());
    return false;
  }
}

class Sweeper {
 public:
  Sweeper(const MeasuredProfile& profile,
          const job::PredictJob& job,
          const job::ReadFile& read_file)
      : model_(profile, job.cluster, read_file),
        models_(job.models),
        kinds_(cluster_kinds(topologies_of(job.topologies),
                             job::policies_in_force(job.policies),
                             job.shards.counts,
                             steps_of(job.cluster))) {}

  void predict(std::uint32_t count, Sweep& sweep) const {
    const ModelledWorkers workers = model_.workers(count);
    sweep.ideal.push_back({count, model_.computing_alone(workers)});
    sweep.packing = model_.packing().words(std::ranges::any_of(
        kinds_, [](const ClusterKind& kind) { return kind.topology == Topology::kServer; }));
    for (ClusterKind kind : kinds_) {
      if (is_possible(kind, count, sweep)) {
        kind.shards = std::max(kind.shards, 1U);
        if (kind.topology == Topology::kGossip) {
          sweep.caveat = model_.caveat_of_gossip();
        }
        answer(kind, model_.stepping(workers, kind.local_steps), sweep);
      }
    }
  }

 private:
  void answer(const ClusterKind& kind, const ModelledWorkers& workers, Sweep& sweep) const {
    const CoarseCluster cluster = model_.coarse_cluster(kind, workers);
    const Bottleneck bottleneck = find_bottleneck(cluster, workers.computing);
    for (const job::PredictionModel model : models_) {
      if (model == job::PredictionModel::kCoarse && !is_modelled(cluster)) {
        if (models_.size() == 1) {
          sweep.left_out.emplace(kind.policy, kNotByCoarse);
        }
        continue;
      }
      const ThroughputEstimate found = model == job::PredictionModel::kCoarse
                                           ? model_.coarse(cluster, workers)
                                           : model_.fine(kind, workers);
      sweep.predictions.push_back({model,
                                   workers.count(),
                                   kind.policy,
                                   kind.topology,
                                   kind.shards,
                                   kind.local_steps,
                                   found.rate,
                                   bottleneck});
    }
  }

  const ClusterModel model_;
  const std::vector<job::PredictionModel> models_;
  const std::vector<ClusterKind> kinds_;
};

}  // namespace

Sweep predict_clusters(const MeasuredProfile& profile,
                       const job::PredictJob& job,
                       const job::ReadFile& read_file) {
  const Sweeper sweeper(profile, job, read_file);
  Sweep sweep;
  for (const std::uint32_t workers : job::workers_in_force(job)) {
    sweeper.predict(workers, sweep);
  }
  if (sweep.predictions.empty()) {
    const auto& [policy, why] = *sweep.left_out.begin();
    const bool is_topology = policy == name(Topology::kGossip);
    throw usage_error((is_topology ? "--topology " : "--policy ") + policy + ": " + why);
  }
  return sweep;
}

std::string trace_of_operations(const MeasuredProfile& profile,
                                const job::PredictJob& job,
                                const job::ReadFile& read_file) {
  const ClusterModel model(profile, job.cluster, read_file);
  const std::uint32_t count = job::workers_in_force(job).front();
  const ClusterKind kind = cluster_kinds(topologies_of(job.topologies),
                                         job::policies_in_force(job.policies),
                                         job.shards.counts,
                                         steps_of(job.cluster))
                               .front();
  const std::string title = fmt::format("{} with {} workers", name_of_kind(kind), count);
  OperationsTrace trace(kind.topology, whole_transfers(profile).layers);
  model.perform(kind, model.workers(count), [&trace](const sim::Operation& operation) {
    trace.add(operation);
  });
  return trace.json(title);
}

std::string kind_name(const ClusterPrediction& one) {
  std::string words = one.policy.empty() ? std::string(name(one.topology)) : one.policy;
  if (one.shards > 1) {
    words += fmt::format(", {} shards", one.shards);
  }
  return words + steps_in_words(one.local_steps);
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
  std::vector<RateOf> rates;
  rates.reserve(sweep.size());
  for (const ClusterPrediction* const one : sweep) {
    rates.push_back({one->workers, one->rate.examples_per_second});
  }
  return saturated_at(rates);
}

}  // namespace outpace::throughput

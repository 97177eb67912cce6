#include "cli/cluster_model.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "links/shapes.h"
#include "sim/placement.h"
#include "sim/runtimes.h"
#include "throughput/efficiency.h"
#include "throughput/runtime_computing.h"

namespace outpace::cli {
namespace {

using throughput::MeasuredProfile;
using throughput::Topology;

constexpr std::size_t kPeriodsOfTrace = 64;

ModelledWorkers speeds_of(const WorkOptions& work, std::uint32_t workers) {
  ModelledWorkers speeds;
  speeds.paces.reserve(workers);
  speeds.factors.reserve(workers);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    speeds.paces.push_back(make_pace(work, worker, workers));
    speeds.factors.push_back(work.delays.empty() ? slow_factor(work, worker, workers) : 1.0);
  }
  if (!work.delays.empty()) {
    const auto trace =
        worker::DelayTrace::parse(read_file("delays", work.delays), work.delays, workers);
    speeds.trace_seconds = static_cast<double>(trace.rows()) *
                           to_seconds(duration_option("delays-period", work.delays_period));
  }
  return speeds;
}

throughput::Computing computing_of_profile(const ModelledWorkers& speeds) {
  constexpr std::size_t kDraws = 32;
  constexpr std::size_t kDrawsOfPeriod = 8;
  const bool traced = speeds.trace_seconds > 0.0;
  const std::size_t periods = traced ? kPeriodsOfTrace : 1;
  const std::size_t draws = traced ? kDrawsOfPeriod : kDraws;
  return throughput::draw_computing(
      periods,
      draws,
      speeds.count(),
      [&](std::size_t period, std::size_t draw, std::uint32_t worker) {
        const Time start{from_seconds(speeds.trace_seconds * static_cast<double>(period) /
                                      static_cast<double>(periods))};
        const double slept = to_seconds(speeds.paces[worker].finish(start, 1.0, period) - start);
        return slept +
               speeds.factors[worker] * speeds.draw(WorkerId{worker}, period * draws + draw, start);
      });
}

}  // namespace

ClusterModel::ClusterModel(const MeasuredProfile& profile, const ModelledClusterOptions& options)
    : profile_(profile),
      options_(options),
      wires_(parse_wires(options)),
      seconds_(profile.computing_to_predict_from()),
      uncertainty_(options.runtime.empty() ? throughput::profile_uncertainty(seconds_) : 0.0) {
  check_modelled_cluster(options);
}

ModelledWorkers ClusterModel::workers(std::uint32_t count) const {
  ModelledWorkers workers = speeds_of(options_.work, count);
  if (options_.runtime.empty()) {
    workers.draw = throughput::draw_measured(seconds_, options_.seed);
    workers.computing = computing_of_profile(workers);
    return workers;
  }
  // Shared, for what draws from it is copied.
  const auto runtimes = std::make_shared<const sim::Runtimes>(sim::Runtimes::parse(
      options_.runtime,
      {.workers = count, .seed = options_.seed, .read_file = [](const std::string& path) {
         return read_file("runtime", path);
       }}));
  workers.draw = [runtimes](WorkerId worker, std::uint64_t iteration, Time start) {
    return runtimes->at(worker, iteration, start);
  };
  workers.computing = throughput::computing_of_runtimes(*runtimes, workers.factors);
  return workers;
}

throughput::RingCluster ClusterModel::ring() const {
  return throughput::ring_costs(profile_, wires_);
}

throughput::CoarseCluster ClusterModel::coarse_cluster(const ClusterKind& kind,
                                                       const ModelledWorkers& workers) const {
  throughput::CoarseCluster cluster{
      .topology = kind.topology,
      .barrier = {throughput::BarrierKind::kNone},
      .served = throughput::served_costs(profile_, wires_, kind.shards),
      .ring = ring()};
  if (kind.topology == Topology::kServer) {
    cluster.barrier = throughput::barrier_of(Spec::parse(kind.policy), workers.count());
  }
  return cluster;
}

throughput::Rate ClusterModel::widened(throughput::Rate rate) const {
  const double half =
      std::hypot((rate.high - rate.low) / 2.0, uncertainty_ * rate.examples_per_second);
  return {rate.examples_per_second,
          std::max(0.0, rate.examples_per_second - half),
          rate.examples_per_second + half};
}

ThroughputEstimate ClusterModel::coarse(const throughput::CoarseCluster& cluster,
                                        const ModelledWorkers& workers) const {
  const throughput::Heuristics heuristics =
      options_.plain ? throughput::Heuristics::kWithout : throughput::Heuristics::kWith;
  const double examples =
      profile_.batch * throughput::coarse_rate(cluster, workers.computing, heuristics);
  return {
      .rate = widened({examples, examples, examples}),
      .mixed_examples = profile_.batch * throughput::mixed_gradients(cluster, workers.computing)};
}

ThroughputEstimate ClusterModel::fine(const ClusterKind& kind,
                                      const ModelledWorkers& workers) const {
  if (kind.topology == Topology::kServer) {
    return by_events(kind, workers);
  }
  return {.rate = kind.topology == Topology::kRing ? ring_by_events(workers)
                                                   : gossip_by_events(workers),
          .mixed_examples = static_cast<double>(workers.count()) * profile_.batch};
}

double ClusterModel::computing_alone(const ModelledWorkers& workers) const {
  double sum = 0.0;
  for (const throughput::Period& period : workers.computing) {
    for (const double seconds : period.mean) {
      sum += 1.0 / seconds;
    }
  }
  return profile_.batch * sum / static_cast<double>(workers.computing.size());
}

ThroughputEstimate ClusterModel::by_events(const ClusterKind& kind,
                                           const ModelledWorkers& workers) const {
  JobOptions job;
  job.workers = workers.count();
  job.policy = kind.policy;
  job.batch = profile_.batch;
  const throughput::SampledTimingOptions sampled =
      timing(workers, throughput::copying_seconds(profile_, wires_));
  const throughput::Spread spread{.seconds = spread_seconds(kind, workers), .seed = options_.seed};
  job.iterations = std::uint64_t{job.workers} * iterations_each(kind, workers, spread.seconds);
  const Training training = to_training(job, kClusterWorkersMost);
  sim::ClusterOptions cluster{
      .policy = training.policy, .coordinator = training.coordinator, .shard = training.shard};
  cluster.coordinator.job = 1;
  cluster.coordinator.examples = profile_.dataset_examples;
  const throughput::ServedCluster costs = throughput::served_costs(profile_, wires_, kind.shards);
  cluster.latency = from_seconds(profile_.message_seconds + wires_.latency_seconds);
  cluster.apply = from_seconds(costs.apply_seconds);
  std::optional<sim::Transfers::Options> links;
  if (wires_.bytes_per_second > 0.0) {
    links.emplace(sim::Transfers::Options{
        .topology =
            links::make_shape(Spec::parse("star"),
                              {.hosts = std::uint64_t{job.workers} + kind.shards,
                               .bandwidth = throughput::kPayloadOfLink * wires_.bytes_per_second}),
        .payload = profile_.payload_bytes(),
        .window = wires_.window_bytes});
    links->servers = sim::place_shards(kind.shards, {}, links->topology);
    cluster.links = &*links;
  }
  const throughput::Served served = throughput::serve_by_events(cluster, sampled, spread);
  return {.rate = widened(served.rate),
          .mixed_examples = served.examples_an_update * (1.0 + served.staleness)};
}

double ClusterModel::spread_seconds(const ClusterKind& kind, const ModelledWorkers& workers) const {
  const throughput::CoarseCluster cluster = coarse_cluster(kind, workers);
  const throughput::BarrierKind barrier = cluster.barrier.kind;
  const bool free = barrier == throughput::BarrierKind::kNone ||
                    barrier == throughput::BarrierKind::kBoundedStaleness;
  return free && workers.count() > 1 && wires_.bytes_per_second > 0.0
             ? workers.count() / throughput::coarse_rate(
                                     cluster, workers.computing, throughput::Heuristics::kWith)
             : 0.0;
}

throughput::SampledTimingOptions ClusterModel::timing(const ModelledWorkers& workers,
                                                      double besides) const {
  return {.draw = workers.draw,
          .besides = besides,
          .paces = workers.paces,
          .factors = workers.factors,
          .cores = options_.cores};
}

throughput::Rate ClusterModel::gossip_by_events(const ModelledWorkers& workers) const {
  return widened(throughput::gossip_rate_by_events(
      timing(workers, 0.0), ring().fixed_seconds, profile_.batch, iterations_each()));
}

throughput::Rate ClusterModel::ring_by_events(const ModelledWorkers& workers) const {
  const throughput::RingCluster costs = ring();
  // They become full one after another through what of the computing comes after the first
  // gradients, as far as layers tell; the shares of bytes and of time are taken for alike.
  const double count =
      std::max(1.0, std::floor(profile_.payload_bytes() / throughput::kBucketBytes));
  std::vector<throughput::RingOfEvents::Bucket> buckets;
  for (int i = 1; i <= static_cast<int>(count); ++i) {
    buckets.push_back({.ready = 1.0 - costs.backward_share * (1.0 - i / count),
                       .seconds = costs.payload_seconds / count});
  }
  return widened(throughput::ring_rate_by_events({.computing = workers.draw,
                                                  .factors = workers.factors,
                                                  .paces = workers.paces,
                                                  .buckets = std::move(buckets),
                                                  .latency_seconds = costs.latency_seconds,
                                                  .fixed_seconds = costs.fixed_seconds,
                                                  .batch = profile_.batch},
                                                 4 * iterations_each()));
}

std::uint32_t ClusterModel::iterations_each(const ClusterKind& kind,
                                            const ModelledWorkers& workers,
                                            double spread) const {
  constexpr std::uint32_t kUntilItBinds = 300;
  const bool by_default =
      options_.iterations == 0 && options_.runtime.empty() && workers.trace_seconds == 0.0;
  if (!by_default) {
    return iterations_each();
  }
  // Those who are ahead of a slower one wait for it only when they are as far ahead as they may be.
  const bool unequal = std::ranges::any_of(workers.factors, [](double one) { return one > 1.0; });
  if (unequal &&
      coarse_cluster(kind, workers).barrier.kind == throughput::BarrierKind::kBoundedStaleness) {
    return kUntilItBinds;
  }
  return spread > 0.0 ? iterations_each() / 2 : iterations_each();  // It is gone through often.
}

std::uint32_t ClusterModel::iterations_each() const {
  constexpr std::uint32_t kByDefault = 40;
  constexpr std::uint32_t kOfRuntimes = 200;
  constexpr std::uint32_t kOfTrace = 600;
  if (options_.iterations != 0) {
    return options_.iterations;
  }
  if (!options_.runtime.empty()) {
    return kOfRuntimes;
  }
  return options_.work.delays.empty() ? kByDefault : kOfTrace;
}

}  // namespace outpace::cli

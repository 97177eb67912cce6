#include "throughput/cluster_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "base/spec.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "job/simulate_job.h"
#include "job/training.h"
#include "job/work.h"
#include "links/shapes.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"
#include "sim/placement.h"
#include "sim/runtimes.h"
#include "throughput/efficiency.h"
#include "throughput/operations.h"
#include "throughput/runtime_computing.h"
#include "worker/neighbour.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kPeriodsOfTrace = 64;
constexpr std::uint64_t kBytesOfKib = 1024;
constexpr double kPacketBytes = 9000.0;

ModelledWorkers speeds_of(const job::Delays& delays,
                          std::uint32_t workers,
                          const job::ReadFile& read_file) {
  ModelledWorkers speeds;
  speeds.paces = job::paces_of(delays, workers, read_file);
  speeds.factors.reserve(workers);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    speeds.factors.push_back(delays.file.empty() ? job::slow_factor(delays, worker, workers) : 1.0);
  }
  if (!delays.file.empty()) {
    const worker::DelayTrace trace = job::delay_trace(delays, workers, read_file);
    speeds.trace_seconds = static_cast<double>(trace.rows()) * to_seconds(delays.period);
  }
  return speeds;
}

std::optional<sim::Overlap> packed_overlap(const MeasuredProfile& profile,
                                           std::uint64_t slice_bytes,
                                           const PackingCosts& packing) {
  std::optional<sim::Overlap> overlap = overlap_of(profile, slice_bytes);
  if (overlap) {
    overlap = packed(*std::move(overlap), packing.gradient_share, packing.weights_share);
  }
  return overlap;
}

Wires wires_of(const job::ModelledCluster& cluster) {
  return {.bytes_per_second = cluster.bandwidth ? cluster.bandwidth->bytes_per_second : 0.0,
          .latency_seconds = to_seconds(cluster.latency),
          .window_bytes = job::window_bytes(cluster.send_window)};
}

Computing computing_of_profile(const ModelledWorkers& speeds) {
  constexpr std::size_t kDraws = 32;
  constexpr std::size_t kDrawsOfPeriod = 8;
  const bool traced = speeds.trace_seconds > 0.0;
  const std::size_t periods = traced ? kPeriodsOfTrace : 1;
  const std::size_t draws = traced ? kDrawsOfPeriod : kDraws;
  return draw_computing(
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

ClusterModel::ClusterModel(const MeasuredProfile& profile,
                           const job::ModelledCluster& cluster,
                           job::ReadFile read_file)
    : profile_(profile),
      options_(cluster),
      read_file_(std::move(read_file)),
      wires_(wires_of(cluster)),
      packing_(packing_costs(cluster.packing, profile.payload_bytes(), profile.packing)),
      overlap_(packed_overlap(profile, cluster.slice.bytes, packing_)),
      simple_(overlap_ ? std::optional(simplified(*overlap_)) : std::nullopt),
      seconds_(profile.computing_to_predict_from()),
      uncertainty_(cluster.runtime.empty() ? profile_uncertainty(seconds_) : 0.0) {}

ModelledWorkers ClusterModel::workers(std::uint32_t count) const {
  ModelledWorkers workers = speeds_of(options_.delays, count, read_file_);
  if (options_.runtime.empty()) {
    workers.draw = draw_measured(seconds_, options_.seed);
    workers.computing = computing_of_profile(workers);
    return workers;
  }
  // Shared, for what draws from it is copied.
  const auto runtimes = std::make_shared<const sim::Runtimes>(sim::Runtimes::parse(
      options_.runtime,
      {.workers = count, .seed = options_.seed, .read_file = [this](const std::string& path) {
         return read_file_("runtime", path);
       }}));
  workers.draw = [runtimes](WorkerId worker, std::uint64_t iteration, Time start) {
    return runtimes->at(worker, iteration, start);
  };
  workers.computing = computing_of_runtimes(*runtimes, workers.factors);
  return workers;
}

ModelledWorkers ClusterModel::stepping(ModelledWorkers workers, std::uint32_t local_steps) const {
  workers.local_steps = local_steps;
  if (local_steps > 0) {
    workers.computing = in_phases(workers.computing, local_steps, options_.seed);
  }
  return workers;
}

RingCluster ClusterModel::peers(Topology topology, std::uint32_t workers) const {
  return packed(ring_costs(profile_, wires_, options_.bucket_kib * kBytesOfKib),
                topology,
                workers,
                wires_,
                packing_);
}

CoarseCluster ClusterModel::coarse_cluster(const ClusterKind& kind,
                                           const ModelledWorkers& workers) const {
  CoarseCluster cluster{.topology = kind.topology,
                        .barrier = {BarrierKind::kNone},
                        .served = {},
                        .ring = peers(kind.topology, workers.count()),
                        .gossip = {.options = options_.gossip}};
  if (kind.topology == Topology::kGossip && workers.count() > 1) {
    cluster.gossip.neighbours = worker::mean_neighbours(
        workers.count(), options_.gossip.graph, job::both_move(options_.gossip.averaging));
  }
  if (kind.topology == Topology::kServer) {
    const Spec spec = Spec::parse(kind.policy);
    cluster.barrier = barrier_of(spec, workers.count());
    cluster.served = served_costs(profile_, wires_, kind.shards, packing_of(kind, workers));
    if (simple_ && kind.shards == 1 && kind.local_steps == 0) {
      cluster.hidden = hidden_transfers(*simple_);
    }
    const bool waits_for_all = cluster.barrier.cutoff == workers.count();
    if (kind.local_steps > 0 && !waits_for_all &&
        policy::make_policy(spec, workers.count(), {})->cuts_off()) {
      cluster.barrier.kind = BarrierKind::kChanging;  // With the parts that workers hand in.
    }
    cluster.steps_ahead = kind.local_steps > 0 && options_.steps_ahead;
  }
  return cluster;
}

PackingCosts ClusterModel::packing_of(const ClusterKind& kind,
                                      const ModelledWorkers& workers) const {
  const Spec first = policy::phases_of(Spec::parse(kind.policy)).front().policy;
  const Barrier barrier = barrier_of(first, workers.count());
  return is_out_of_step(barrier.kind) ? packing_ : packing_.shared_by(workers.count());
}

Rate ClusterModel::widened(Rate rate) const {
  const double half =
      std::hypot((rate.high - rate.low) / 2.0, uncertainty_ * rate.examples_per_second);
  return {rate.examples_per_second,
          std::max(0.0, rate.examples_per_second - half),
          rate.examples_per_second + half};
}

ThroughputEstimate ClusterModel::coarse(const CoarseCluster& cluster,
                                        const ModelledWorkers& workers) const {
  const Heuristics heuristics = options_.plain ? Heuristics::kWithout : Heuristics::kWith;
  const double rate = examples(workers) * coarse_rate(cluster, workers.computing, heuristics);
  return {.rate = widened({rate, rate, rate}),
          .mixed_examples = examples(workers) * mixed_gradients(cluster, workers.computing)};
}

ThroughputEstimate ClusterModel::of_iterations(const ClusterKind& kind,
                                               const ModelledWorkers& workers,
                                               const Spread& spread,
                                               std::uint32_t iterations) const {
  if (kind.topology == Topology::kServer) {
    return by_events(kind, workers, spread, iterations);
  }
  return {.rate = kind.topology == Topology::kRing
                      ? ring_rate_by_events(ring_of_events(workers), iterations)
                      : gossip_rate_by_events(gossip_of_events(workers), iterations),
          .mixed_examples = static_cast<double>(workers.count()) * profile_.batch};
}

ThroughputEstimate ClusterModel::fine(const ClusterKind& kind,
                                      const ModelledWorkers& workers) const {
  constexpr double kHalfOfNarrow = 0.025;
  // Below what the profile leaves open, chance does not matter.
  const double narrow = std::max(kHalfOfNarrow, uncertainty_);
  constexpr double kGradientsMost = 200'000.0;
  constexpr double kOverLinksMost = 20'000.0;  // Each takes longer.
  constexpr double kTimesLeast = 2.0;
  constexpr double kTimesMost = 8.0;
  const bool served = kind.topology == Topology::kServer;
  const Spread spread = served ? spread_of(kind, workers) : Spread{};
  double iterations =
      served ? iterations_each(kind, workers, spread.seconds) : 4 * iterations_each();
  const double together =
      workers.count() * static_cast<double>(runs_of_spread(spread, workers.count()));
  const double most =
      std::max(iterations, (has_links() ? kOverLinksMost : kGradientsMost) / together);
  ThroughputEstimate found =
      of_iterations(kind, workers, spread, static_cast<std::uint32_t>(iterations));
  while (options_.iterations == 0 && iterations < most) {
    const double off =
        (found.rate.high - found.rate.low) / 2.0 / (narrow * found.rate.examples_per_second);
    if (off <= 1.0 && has_settled(kind, workers, found.rate)) {
      break;
    }
    iterations = std::min(most, iterations * std::clamp(off * off, kTimesLeast, kTimesMost));
    found = of_iterations(kind, workers, spread, static_cast<std::uint32_t>(iterations));
  }
  found.rate = widened(found.rate);
  return found;
}

bool ClusterModel::has_settled(const ClusterKind& kind,
                               const ModelledWorkers& workers,
                               const Rate& rate) const {
  constexpr double kNear = 0.1;
  if (kind.topology != Topology::kServer) {
    return true;
  }
  const CoarseCluster cluster = coarse_cluster(kind, workers);
  if (cluster.barrier.kind != BarrierKind::kBoundedStaleness) {
    return true;
  }
  const double coarse =
      examples(workers) * coarse_rate(cluster, workers.computing, Heuristics::kWith);
  return rate.examples_per_second < (1.0 + kNear) * coarse;
}

double ClusterModel::computing_alone(const ModelledWorkers& workers) const {
  double sum = 0.0;
  for (const Period& period : workers.computing) {
    for (const double seconds : period.mean) {
      sum += 1.0 / seconds;
    }
  }
  return examples(workers) * sum / static_cast<double>(workers.computing.size());
}

struct ClusterModel::Simulated {
  sim::ClusterOptions options;
  std::optional<sim::Transfers::Options> links;
};

namespace {

void let_overlap(sim::ClusterOptions& cluster,
                 sim::Transfers::Options& links,
                 const sim::Overlap& overlap) {
  links.pieces.clear();
  for (const sim::Overlap::Piece& piece : overlap.pieces) {
    links.pieces.push_back(piece.bytes);
  }
  cluster.overlap = &overlap;
}

}  // namespace

std::unique_ptr<ClusterModel::Simulated> ClusterModel::simulated(const ClusterKind& kind,
                                                                 const ModelledWorkers& workers,
                                                                 std::uint32_t iterations) const {
  job::Training training;
  training.workers = workers.count();
  training.policy = Spec::parse(kind.policy);
  training.batch = profile_.batch;
  if (kind.local_steps > 0) {
    training.local_steps = kind.local_steps;
  }
  training.limits.iterations = std::uint64_t{workers.count()} * iterations;
  const job::Resolved resolved =
      job::resolve(training, {}, {.workers_max = job::kModelledWorkersMost});
  auto simulated =
      std::make_unique<Simulated>(Simulated{.options = {.policy = resolved.policy,
                                                        .policy_inputs = resolved.policy_inputs,
                                                        .coordinator = resolved.coordinator,
                                                        .shard = resolved.shard},
                                            .links = {}});
  sim::ClusterOptions& cluster = simulated->options;
  cluster.steps_ahead = options_.steps_ahead && kind.local_steps > 0;
  cluster.packing = {.gradients = compress::Compression::parse(options_.packing.gradients.text),
                     .weights = compress::parse_weights(options_.packing.weights.text)};
  cluster.coordinator.job = 1;
  cluster.coordinator.examples = profile_.dataset_examples;
  const ServedCluster costs =
      served_costs(profile_, wires_, kind.shards, packing_of(kind, workers));
  cluster.latency = from_seconds(profile_.message_seconds + wires_.latency_seconds);
  cluster.apply = from_seconds(costs.apply_seconds);
  if (wires_.bytes_per_second > 0.0) {
    auto& links = simulated->links.emplace(sim::Transfers::Options{
        .topology = links::make_shape(Spec::parse("star"),
                                      {.hosts = std::uint64_t{workers.count()} + kind.shards,
                                       .bandwidth = kPayloadOfLink * wires_.bytes_per_second}),
        .payload = profile_.payload_bytes(),
        .window = wires_.window_bytes});
    links.servers = sim::place_shards(kind.shards, {}, links.topology);
    if (kind.shards == 1 && wires_.window_bytes == 0.0) {
      const double packet = std::min(kPacketBytes, links.payload);
      links.packet = from_seconds(packet / (kPayloadOfLink * wires_.bytes_per_second));
    }
    cluster.links = &links;
    if (simple_ && kind.shards == 1 && kind.local_steps == 0) {
      let_overlap(cluster, links, *simple_);
    }
  }
  return simulated;
}

ThroughputEstimate ClusterModel::by_events(const ClusterKind& kind,
                                           const ModelledWorkers& workers,
                                           const Spread& spread,
                                           std::uint32_t iterations) const {
  const auto cluster = simulated(kind, workers, iterations);
  const Served served =
      serve_by_events(cluster->options, timing(workers, besides_seconds()), spread);
  return {.rate = served.rate,
          .mixed_examples = served.examples_an_update * (1.0 + served.staleness)};
}

void ClusterModel::perform(const ClusterKind& kind,
                           const ModelledWorkers& workers,
                           const sim::Performed& performed) const {
  constexpr std::uint32_t kIterations = 10;
  if (kind.topology == Topology::kRing) {
    RingOfEvents ring = ring_of_events(workers);
    ring.performed =
        [&performed, told = std::uint64_t{0}, &workers](const sim::Operation& one) mutable {
          told += one.kind == sim::Operation::Kind::kCompute ? 1 : 0;
          if (told <= std::uint64_t{kIterations} * workers.count()) {
            performed(one);
          }
        };
    (void)ring_rate_by_events(ring, 2 * kIterations);
    return;
  }
  if (kind.topology == Topology::kGossip) {
    GossipOfEvents gossip = gossip_of_events(workers);
    gossip.performed = performed;
    (void)gossip_rate_by_events(gossip, 2 * kIterations);
    return;
  }
  const auto cluster = simulated(kind, workers, kIterations);
  cluster->options.performed = performed;
  const sim::Overlap told =
      overlap_ ? *overlap_
               : packed(whole_transfers(profile_), packing_.gradient_share, packing_.weights_share);
  if (cluster->links && kind.shards == 1 && !cluster->options.steps_ahead) {
    let_overlap(cluster->options, *cluster->links, told);
  }
  SampledTimingOptions sampled = timing(workers, besides_seconds());
  const Spread spread = spread_of(kind, workers);
  sampled.begins = beginnings(spread, workers.count(), 1).front();
  perform_by_events(cluster->options, sampled);
}

Spread ClusterModel::spread_of(const ClusterKind& kind, const ModelledWorkers& workers) const {
  // The first phase of a switch is what the workers begin with.
  const Spec first = policy::phases_of(Spec::parse(kind.policy)).front().policy;
  const CoarseCluster cluster =
      coarse_cluster({first.text, kind.topology, kind.shards, kind.local_steps}, workers);
  Spread spread{.seconds = 0.0, .from = 0.0, .seed = options_.seed};
  if (is_out_of_step(cluster.barrier.kind) && workers.count() > 1 &&
      wires_.bytes_per_second > 0.0) {
    spread.seconds = workers.count() / coarse_rate(cluster, workers.computing, Heuristics::kWith);
    // Pieces of weights that arrive after a worker's start would hold it up, and the phases would
    // be less spread than the starts.
    spread.from =
        overlap_ && kind.shards == 1 ? workers.count() * cluster.served.down_seconds() : 0.0;
  }
  return spread;
}

SampledTimingOptions ClusterModel::timing(const ModelledWorkers& workers, double besides) const {
  return {.draw = workers.draw,
          .besides = besides,
          .paces = workers.paces,
          .factors = workers.factors,
          .cores = options_.cores,
          .local_steps = workers.local_steps};
}

std::string ClusterModel::caveat_of_gossip() const {
  const job::Averaging averaging = options_.gossip.averaging;
  const double meeting = meeting_seconds(peers(Topology::kGossip, 2), averaging);
  const double gradient =
      std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(seconds_.size());
  if (averaging == job::Averaging::kElastic && meeting > options_.gossip.average_every * gradient) {
    return fmt::format(
        "with --gossip easgd the first worker holds the centre and never waits: here another "
        "worker's meeting with it takes {:.2g} s, and a gradient {:.2g} s, so the first worker "
        "computes most of the gradients",
        meeting,
        gradient);
  }
  if (averaging != job::Averaging::kFree || meeting <= gradient) {
    return "";
  }
  return fmt::format(
      "with --gossip free no gradient waits for a meeting: here a meeting takes {:.2g} s and a "
      "gradient {:.2g} s, so a worker meets another at most once in {:.0f} gradients, and their "
      "weights drift apart",
      meeting,
      gradient,
      meeting / gradient);
}

GossipOfEvents ClusterModel::gossip_of_events(const ModelledWorkers& workers) const {
  const RingCluster costs = peers(Topology::kGossip, workers.count());
  return {
      .timing = timing(workers, 0.0),
      .options = options_.gossip,
      // A visit's messages are counted apart.
      .meeting_seconds =
          meeting_seconds(costs, options_.gossip.averaging) -
          (job::both_move(options_.gossip.averaging) ? 0.0 : 2.0 * costs.meeting_message_seconds),
      .message_seconds = costs.meeting_message_seconds,
      .apply_seconds = costs.fixed_seconds,
      .batch = profile_.batch,
      .seed = options_.seed};
}

RingOfEvents ClusterModel::ring_of_events(const ModelledWorkers& workers) const {
  const RingCluster costs = peers(Topology::kRing, workers.count());
  std::vector<RingOfEvents::Bucket> buckets;
  for (const BucketShare& bucket : costs.buckets) {
    buckets.push_back({.ready = bucket.ready, .seconds = costs.payload_seconds * bucket.bytes});
  }
  return {.computing = workers.draw,
          .factors = workers.factors,
          .paces = workers.paces,
          .buckets = std::move(buckets),
          .latency_seconds = costs.latency_seconds,
          .fixed_seconds = costs.fixed_seconds,
          .batch = profile_.batch};
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
  // Faster workers wait for a slower one only once they reach the bound.
  const bool unequal = std::ranges::any_of(workers.factors, [](double one) { return one > 1.0; });
  if (unequal && coarse_cluster(kind, workers).barrier.kind == BarrierKind::kBoundedStaleness) {
    return kUntilItBinds;
  }
  return spread > 0.0 ? iterations_each() / 2
                      : iterations_each();  // It is simulated several times.
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
  return options_.delays.file.empty() ? kByDefault : kOfTrace;
}

}  // namespace outpace::throughput

#include "cli/predict_cluster.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/count_list.h"
#include "cli/predict_output.h"
#include "cli/simulated_links.h"
#include "network/shapes.h"
#include "network/units.h"
#include "sim/placement.h"
#include "throughput/fine.h"
#include "throughput/outlook.h"
#include "throughput/sampled_timing.h"

namespace outpace::cli {
namespace {

using throughput::MeasuredProfile;
using throughput::Topology;

constexpr std::uint32_t kClusterWorkersMost = 10'000;
constexpr std::uint32_t kPredictedShardsMost = 256;
constexpr std::size_t kPeriodsOfTrace = 64;
constexpr std::uint32_t kIterationsMost = 100'000;

Topology parse_topology(const std::string& text) {
  for (const Topology topology : {Topology::kServer, Topology::kRing, Topology::kGossip}) {
    if (text == throughput::name(topology)) {
      return topology;
    }
  }
  throw usage_error("--topology is '" + text + "'; it takes ps, ring or gossip");
}

throughput::Wires parse_wires(const PredictClusterOptions& options) {
  throughput::Wires wires;
  if (!options.bandwidth.empty()) {
    const auto bandwidth = network::parse_bandwidth(options.bandwidth);
    if (!bandwidth || !(*bandwidth > 0.0)) {
      throw usage_error("--bandwidth is '" + options.bandwidth +
                        "'; it takes a rate above 0 such as 1Gbps or 125MBps");
    }
    wires.bytes_per_second = *bandwidth;
  }
  wires.window_bytes = parse_send_window(options.send_window);
  wires.latency_seconds = to_seconds(duration_option("latency", options.latency));
  return wires;
}

// How fast workers are, beside what the profile says.
struct Speeds {
  std::vector<worker::Pace> paces;
  std::vector<double> factors;  // Of computing; a trace's delays have theirs already.
  double trace_seconds = 0.0;   // How long the trace is, by time; 0 without one.
};

Speeds speeds_of(const PredictClusterOptions& options, std::uint32_t workers) {
  Speeds speeds;
  std::vector<worker::Slow> slow;
  for (const std::string& text : options.work.slow) {
    slow.push_back(worker::Slow::parse(text, workers));
  }
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    speeds.paces.push_back(make_pace(options.work, worker, workers));
    speeds.factors.push_back(
        options.work.delays.empty() ? worker::slow_factor(slow, WorkerId{worker}) : 1.0);
  }
  if (!options.work.delays.empty()) {
    const auto trace = worker::DelayTrace::parse(
        read_file("delays", options.work.delays), options.work.delays, workers);
    speeds.trace_seconds = static_cast<double>(trace.rows()) *
                           to_seconds(duration_option("delays-period", options.work.delays_period));
  }
  return speeds;
}

throughput::Computing computing_of(const std::vector<double>& seconds,
                                   const Speeds& speeds,
                                   std::uint64_t seed) {
  constexpr std::size_t kDraws = 32;
  constexpr std::size_t kDrawsOfPeriod = 8;
  const bool traced = speeds.trace_seconds > 0.0;
  const std::size_t periods = traced ? kPeriodsOfTrace : 1;
  const std::size_t draws = traced ? kDrawsOfPeriod : kDraws;
  return throughput::draw_computing(
      periods,
      draws,
      static_cast<std::uint32_t>(speeds.paces.size()),
      [&](std::size_t period, std::size_t draw, std::uint32_t worker) {
        const Time start{from_seconds(speeds.trace_seconds * static_cast<double>(period) /
                                      static_cast<double>(periods))};
        const double slept = to_seconds(speeds.paces[worker].finish(start, 1.0, period) - start);
        return slept +
               speeds.factors[worker] * throughput::sampled_seconds(
                                            seconds, seed, WorkerId{worker}, period * draws + draw);
      });
}

throughput::Rate widened(throughput::Rate rate, double part) {
  const double half = std::hypot((rate.high - rate.low) / 2.0, part * rate.examples_per_second);
  return {rate.examples_per_second,
          std::max(0.0, rate.examples_per_second - half),
          rate.examples_per_second + half};
}

// All that is asked of one number of workers.
class Sweep {
 public:
  Sweep(const MeasuredProfile& profile, const PredictClusterOptions& options)
      : profile_(profile),
        options_(options),
        wires_(parse_wires(options)),
        shards_(parse_count_list("shards", options.shards, kPredictedShardsMost)),
        seconds_(profile.computing_to_predict_from()),
        uncertainty_(throughput::profile_uncertainty(seconds_)) {
    for (const std::string& topology : options.topologies) {
      topologies_.push_back(parse_topology(topology));
    }
    if (topologies_.empty()) {
      topologies_ = {Topology::kServer};
    }
    if (policies_.empty()) {
      policies_ = {"sync", "async"};
    }
  }

  void predict(std::uint32_t workers, std::vector<Prediction>& out) {
    const Speeds speeds = speeds_of(options_, workers);
    const throughput::Computing computing = computing_of(seconds_, speeds, options_.seed);
    for (const Topology topology : topologies_) {
      if (topology != Topology::kServer) {
        answer({"", topology, 1}, speeds, computing, out);
        continue;
      }
      for (const std::string& policy : policies_) {
        if (!is_possible(policy, workers)) {
          continue;
        }
        for (const std::uint32_t shards : shards_) {
          answer({policy, topology, shards}, speeds, computing, out);
        }
      }
    }
  }

  // Policies that some number of workers is too small for, in words.
  [[nodiscard]] const std::map<std::string, std::string>& left_out() const { return left_out_; }

 private:
  bool is_possible(const std::string& policy, std::uint32_t workers) {
    try {
      (void)throughput::coordination_of(Spec::parse(policy), workers);
      return true;
    } catch (const Error& error) {
      left_out_.emplace(policy, error.what());
      return false;
    }
  }

  // A cluster, but for how fast its workers are.
  struct Kind {
    std::string policy;  // Empty without a server.
    Topology topology;
    std::uint32_t shards;
  };

  [[nodiscard]] throughput::Question question_of(const Kind& kind, std::uint32_t workers) const {
    throughput::Question question{.topology = kind.topology,
                                  .coordination = {throughput::Waits::kNobody},
                                  .served = throughput::served_costs(profile_, wires_, kind.shards),
                                  .ring = throughput::ring_costs(profile_, wires_)};
    if (kind.topology == Topology::kServer) {
      question.coordination = throughput::coordination_of(Spec::parse(kind.policy), workers);
    }
    return question;
  }

  [[nodiscard]] throughput::Rate by_phases(const throughput::Question& question,
                                           const throughput::Computing& computing) const {
    const throughput::Heuristics heuristics =
        options_.plain ? throughput::Heuristics::kWithout : throughput::Heuristics::kWith;
    const double examples =
        profile_.batch * throughput::coarse_rate(question, computing, heuristics);
    return {examples, examples, examples};
  }

  void answer(const Kind& kind,
              const Speeds& speeds,
              const throughput::Computing& computing,
              std::vector<Prediction>& out) const {
    const auto workers = static_cast<std::uint32_t>(speeds.paces.size());
    const throughput::Question question = question_of(kind, workers);
    const throughput::Bottleneck bottleneck = throughput::find_bottleneck(question, computing);
    for (const std::string& model : options_.models) {
      std::optional<throughput::Rate> rate;
      if (model == "coarse") {
        rate = by_phases(question, computing);
      } else if (kind.topology == Topology::kServer) {
        rate = by_events(kind, speeds, spread_of(question, computing));
      } else if (kind.topology == Topology::kRing) {
        rate = ring_by_events(question.ring, speeds);
      } else {
        rate = throughput::gossip_rate_by_events(sampled(speeds, 0.0, 0.0),
                                                 question.ring.fixed_seconds,
                                                 profile_.batch,
                                                 iterations_each());
      }
      if (rate) {
        out.push_back({model,
                       workers,
                       kind.policy,
                       kind.topology,
                       kind.shards,
                       widened(*rate, uncertainty_),
                       bottleneck});
      }
    }
  }

  // Over how long the workers' beginnings are spread: those whom no round holds together meet on
  // the links by chance, at any time of an iteration.
  [[nodiscard]] double spread_of(const throughput::Question& question,
                                 const throughput::Computing& computing) const {
    const throughput::Waits waits = question.coordination.waits;
    const bool free = waits == throughput::Waits::kNobody || waits == throughput::Waits::kSlowest;
    const std::size_t workers = computing.front().mean.size();
    return free && workers > 1 && wires_.bytes_per_second > 0.0
               ? static_cast<double>(workers) /
                     throughput::coarse_rate(question, computing, throughput::Heuristics::kWith)
               : 0.0;
  }

  [[nodiscard]] throughput::Rate by_events(const Kind& kind,
                                           const Speeds& speeds,
                                           double spread) const {
    const auto workers = static_cast<std::uint32_t>(speeds.paces.size());
    const std::uint32_t shards = kind.shards;
    JobOptions job;
    job.workers = workers;
    job.policy = kind.policy;
    job.batch = profile_.batch;
    job.iterations = std::uint64_t{workers} * iterations_each();
    const Training training = to_training(job, kClusterWorkersMost);
    sim::ClusterOptions cluster{
        .policy = training.policy, .coordinator = training.coordinator, .shard = training.shard};
    cluster.coordinator.job = 1;
    cluster.coordinator.examples = profile_.dataset_examples;
    const throughput::ServedCluster costs = throughput::served_costs(profile_, wires_, shards);
    cluster.latency = from_seconds(profile_.message_seconds + wires_.latency_seconds);
    cluster.apply = from_seconds(costs.apply_seconds);
    std::optional<sim::Transfers::Options> links;
    if (wires_.bytes_per_second > 0.0) {
      links.emplace(sim::Transfers::Options{
          .topology = network::make_shape(
              Spec::parse("star"),
              {.hosts = std::uint64_t{workers} + shards,
               .bandwidth = throughput::kPayloadOfLink * wires_.bytes_per_second}),
          .payload = profile_.payload_bytes(),
          .window = wires_.window_bytes});
      links->servers = sim::place_shards(shards, {}, links->topology);
      cluster.links = &*links;
    }
    return throughput::served_rate_by_events(
        cluster, sampled(speeds, profile_.payload_bytes() * profile_.byte_seconds, spread));
  }

  [[nodiscard]] throughput::SampledTimingOptions sampled(const Speeds& speeds,
                                                         double besides,
                                                         double spread) const {
    return {.seconds = seconds_,
            .besides = besides,
            .paces = speeds.paces,
            .factors = speeds.factors,
            .cores = options_.cores,
            .spread = spread,
            .seed = options_.seed};
  }

  [[nodiscard]] throughput::Rate ring_by_events(const throughput::RingCluster& costs,
                                                const Speeds& speeds) const {
    if (speeds.trace_seconds > 0.0) {
      throw usage_error(
          "--delays beside --topology ring: the fine model of a ring has no delays "
          "yet; leave one out, or add --models coarse");
    }
    // Two buckets, as far as layers tell: what is there before the first layer's backward pass
    // begins, and the rest. The shares of bytes and of time are taken for alike.
    const double early = costs.backward_share;
    return throughput::ring_rate_by_events(
        {.computing = seconds_,
         .factors = speeds.factors,
         .buckets = {{.ready = 1.0 - early, .seconds = early * costs.payload_seconds},
                     {.ready = 1.0, .seconds = (1.0 - early) * costs.payload_seconds}},
         .latency_seconds = costs.latency_seconds,
         .fixed_seconds = costs.fixed_seconds,
         .batch = profile_.batch,
         .seed = options_.seed},
        4 * iterations_each());
  }

  [[nodiscard]] std::uint32_t iterations_each() const {
    constexpr std::uint32_t kByDefault = 40;
    constexpr std::uint32_t kOfTrace = 600;
    if (options_.iterations != 0) {
      return options_.iterations;
    }
    return options_.work.delays.empty() ? kByDefault : kOfTrace;
  }

  const MeasuredProfile& profile_;
  const PredictClusterOptions& options_;
  const throughput::Wires wires_;
  const std::vector<std::uint32_t> shards_;
  const std::vector<double> seconds_;
  const double uncertainty_;
  std::vector<Topology> topologies_;
  std::vector<std::string> policies_ = options_.policies;
  std::map<std::string, std::string> left_out_;
};

void check(const PredictClusterOptions& options) {
  for (const std::string& model : options.models) {
    if (model != "fine" && model != "coarse") {
      throw usage_error("--models is '" + model + "'; it takes fine, coarse or both");
    }
  }
  constexpr std::uint32_t kIterationsLeast = 20;  // What an interval takes, after the start.
  if (options.iterations != 0 &&
      (options.iterations < kIterationsLeast || options.iterations > kIterationsMost)) {
    throw usage_error(fmt::format("--iterations is {}; it takes {} to {}, or 0 for the default",
                                  options.iterations,
                                  kIterationsLeast,
                                  kIterationsMost));
  }
}

}  // namespace

void add_predict_cluster_options(CLI::App& command, PredictClusterOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--workers", options.workers, "8, 1,2,4 or 1..64 (default: 1..16)");
  command
      .add_option("--policy", options.policies, "As in train (repeatable; default: sync and async)")
      ->default_str("");
  command
      .add_option("--topology", options.topologies, "ps, ring or gossip (repeatable; default: ps)")
      ->delimiter(',');
  command.add_option("--shards", options.shards, "Of the server: 1 or 1..4");
  command.add_option("--bandwidth",
                     options.bandwidth,
                     "Of each host's link, each way: 1Gbps (default: never in the way)");
  command.add_option("--latency", options.latency, "Of a message, each way, beside the profile's");
  command.add_option("--send-window",
                     options.send_window,
                     "The server sends so much of one worker's weights before the next one's turn "
                     "(default: all at the same time)");
  command.add_option("--models", options.models, "fine, coarse or both")->delimiter(',');
  command.add_flag("--plain", options.plain, "The coarse models without their heuristics");
  add_delay_options(command, options.work);
  command.add_option(
      "--cores", options.cores, "Workers share so many processors; 0: each has its own");
  command.add_option("--iterations",
                     options.iterations,
                     "Of each worker, for the fine model; 0: 40, with --delays 600");
  command.add_option("--seed", options.seed, "Of what is drawn");
}

int predict_cluster(const MeasuredProfile& profile, const PredictClusterOptions& options) {
  check(options);
  Sweep sweep(profile, options);
  std::vector<Prediction> predictions;
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
  if (options.json) {
    print_predictions_as_json(predictions);
  } else {
    print_predictions(predictions);
  }
  return 0;
}

}  // namespace outpace::cli

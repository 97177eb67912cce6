#include "cli/cluster_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/simulated_links.h"
#include "links/units.h"

namespace outpace::cli {

void add_modelled_cluster_options(CLI::App& command, ModelledClusterOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--bandwidth",
                     options.bandwidth,
                     "Of each host's link, each way: 1Gbps (default: never in the way)");
  command.add_option("--latency", options.latency, "Of a message, each way, beside the profile's");
  command.add_option("--send-window",
                     options.send_window,
                     "The server sends so much of one worker's weights before the next one's turn "
                     "(default: all at the same time)");
  command.add_option("--runtime",
                     options.runtime,
                     "How long workers compute, instead of the profile: as in simulate, such as "
                     "'lognormal(mean=100ms,cv=0.3)'");
  command.add_flag("--plain", options.plain, "The coarse models without their heuristics");
  add_delay_options(command, options.work);
  command.add_option(
      "--cores", options.cores, "Workers share so many processors; 0: each has its own");
  command.add_option("--iterations",
                     options.iterations,
                     "Of each worker, for the fine model; 0: 40, with --runtime 200, with --delays "
                     "600");
  command.add_option("--seed", options.seed, "Of what is drawn");
}

const std::vector<std::string>& modelled_cluster_option_names() {
  static const std::vector<std::string> kNames{"bandwidth",
                                               "latency",
                                               "send-window",
                                               "runtime",
                                               "plain",
                                               "delays",
                                               "delays-by",
                                               "delays-period",
                                               "slow",
                                               "cores",
                                               "iterations",
                                               "seed"};
  return kNames;
}

void check_modelled_cluster(const ModelledClusterOptions& options) {
  constexpr std::uint32_t kIterationsLeast = 20;  // What an interval takes, after the start.
  constexpr std::uint32_t kIterationsMost = 100'000;
  if (options.iterations != 0 &&
      (options.iterations < kIterationsLeast || options.iterations > kIterationsMost)) {
    throw usage_error(fmt::format("--iterations is {}; it takes {} to {}, or 0 for the default",
                                  options.iterations,
                                  kIterationsLeast,
                                  kIterationsMost));
  }
  if (options.runtime.empty()) {
    return;
  }
  if (!options.work.delays.empty()) {
    throw usage_error("--runtime beside --delays: both say how long workers take; leave one out");
  }
  if (options.cores != 0) {
    throw usage_error("--runtime beside --cores: a runtime says all that it takes; leave one out");
  }
}

throughput::Wires parse_wires(const ModelledClusterOptions& options) {
  throughput::Wires wires;
  if (!options.bandwidth.empty()) {
    const auto bandwidth = links::parse_bandwidth(options.bandwidth);
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

throughput::Topology parse_topology(const std::string& text) {
  using throughput::Topology;
  for (const Topology topology : {Topology::kServer, Topology::kRing, Topology::kGossip}) {
    if (text == throughput::name(topology)) {
      return topology;
    }
  }
  throw usage_error("--topology is '" + text + "'; it takes ps, ring or gossip");
}

}  // namespace outpace::cli

#include "job/simulated_peers.h"

#include <set>
#include <string>

#include "base/error.h"
#include "job/simulate_job.h"
#include "sim/faults.h"

namespace outpace::job {
namespace {

constexpr std::uint32_t kPeersMost = 1000;
constexpr std::uint64_t kEpochsOfPeers = 5;  // With no limit: as with a server.

const std::set<std::string>& of_gossip() {
  static const std::set<std::string> kNames{"gossip", "graph", "average-every"};
  return kNames;
}
// All else belongs to a server.
const std::set<std::string>& of_peers() {
  static const std::set<std::string> kNames{
      "out",      "topology", "transfer",         "workers",    "batch",
      "seed",     "updates",  "epochs",           "iterations", "seconds",
      "examples", "runtime",  "latency",          "delays",     "delays-by",
      "slow",     "compute",  "delays-period",    "cores",      "fault",
      "json",     "policy",   "heartbeat-timeout"};
  return kNames;
}

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw usage_error("--" + option + " " + why + "; remove it");
}

}  // namespace

void declare(OptionList& options, SimulatedPeers& peers) {
  options.add("topology",
              peers.topology,
              "ps: a parameter server. ring, gossip: workers without a server; options of the "
              "server are refused");
  declare_pace(options, peers.gossip);
  options.add("transfer",
              peers.transfer,
              "With --topology ring or gossip: time that all weights take over a link, on top of "
              "--latency");
}

void fit_peers(const OptionList& options, SimulateJob& job) {
  const std::string topology = Value<Topology>::text(job.peers.topology);
  for (const Option& option : options.all()) {
    if (!option.changed()) {
      continue;
    }
    const bool gossips = of_gossip().contains(option.name());
    if (gossips && job.peers.topology != Topology::kGossip) {
      refuse(option.name(), "belongs to --topology gossip");
    }
    if (option.name() == "transfer" && !job.peers.any()) {
      refuse("transfer", "belongs to --topology ring or gossip");
    }
    if (job.peers.any() && !gossips && !of_peers().contains(option.name())) {
      refuse(option.name(),
             "conflicts with --topology " + topology + ", whose simulation does not have it");
    }
  }
  if (!job.peers.any()) {
    return;
  }
  const bool ring = job.peers.topology == Topology::kRing;
  const std::string like = ring ? "sync" : "async";
  if (options.at("policy").changed() && job.training.policy.text != like) {
    refuse("policy",
           job.training.policy.text + " conflicts with --topology " + topology +
               ", which behaves like " + like);
  }
  if (!ring) {
    fit_gossip(options, job.peers.gossip);
  }
  server::Limits& limits = job.training.limits;
  if (limits.updates == 0 && limits.iterations == 0 && limits.epochs == 0 &&
      limits.seconds <= Duration{}) {
    limits.epochs = kEpochsOfPeers;
  }
}

peers::Options peer_options(const SimulateJob& job) {
  const Training& training = job.training;
  const bool ring = job.peers.topology == Topology::kRing;
  const std::uint32_t least = ring ? 1 : 2;
  if (training.workers < least || training.workers > kPeersMost) {
    throw usage_error("--workers is " + std::to_string(training.workers) + "; a simulated " +
                      Value<Topology>::text(job.peers.topology) + " takes " +
                      std::to_string(least) + " to " + std::to_string(kPeersMost));
  }
  peers::Options options{.kind = ring ? peers::Kind::kRing : peers::Kind::kGossip,
                         .batches = {.workers = training.workers,
                                     .batch = training.batch,
                                     .examples = job.examples,
                                     .updates = training.limits.updates,
                                     .iterations = training.limits.iterations,
                                     .epochs = training.limits.epochs},
                         .seconds = training.limits.seconds,
                         .averaging = job.peers.gossip.averaging,
                         .graph = job.peers.gossip.graph,
                         .average_every = job.peers.gossip.average_every,
                         .seed = training.seed,
                         .latency = job.cluster.latency,
                         .transfer = job.peers.transfer,
                         .heartbeat_timeout = job.heartbeat_timeout};
  for (const std::string& fault : job.cluster.faults) {
    options.faults.push_back(sim::parse_fault(fault, training.workers));
  }
  peers::check_faults(options.faults);
  return options;
}

}  // namespace outpace::job

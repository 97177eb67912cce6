#include "job/simulated_peers.h"

#include <set>
#include <string>

#include "base/error.h"
#include "job/peer_packing.h"
#include "job/simulate_job.h"

namespace outpace::job {
namespace {

constexpr std::uint64_t kEpochsOfPeers = 5;  // With no limit: as with a server.

const std::set<std::string>& of_gossip() {
  static const std::set<std::string> kNames{"gossip", "graph", "average-every"};
  return kNames;
}
// All else belongs to a server.
const std::set<std::string>& of_peers() {
  static const std::set<std::string> kNames{"out",
                                            "topology",
                                            "transfer",
                                            "workers",
                                            "batch",
                                            "seed",
                                            "updates",
                                            "epochs",
                                            "iterations",
                                            "seconds",
                                            "examples",
                                            "runtime",
                                            "latency",
                                            "delays",
                                            "delays-by",
                                            "slow",
                                            "compute",
                                            "delays-period",
                                            "cores",
                                            "fault",
                                            "json",
                                            "policy",
                                            "heartbeat-timeout",
                                            "compress"};
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
  options.add(
      "transfer",
      peers.transfer,
      "With --topology ring or gossip: time that all weights take over a link as float32, on "
      "top of --latency; --compress makes it shorter");
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
  check_packing(options, job.peers.topology, job.training.compress);
  if (job.training.compress.text != "none" && job.peers.transfer <= Duration{}) {
    throw usage_error(
        "--compress without --transfer: nothing is sent that takes bytes; add "
        "--transfer");
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

}  // namespace outpace::job

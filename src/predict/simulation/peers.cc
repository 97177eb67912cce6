#include "simulation/peers.h"

#include <string>

#include "base/error.h"
#include "compress/format.h"
#include "peers/cluster.h"
#include "simulation/cluster_of_job.h"

namespace outpace::simulation {
namespace {

constexpr std::uint32_t kPeersMost = 1000;

peers::Options options_of(const job::SimulateJob& job) {
  const job::Training& training = job.training;
  const bool ring = job.peers.topology == job::Topology::kRing;
  const std::uint32_t least = ring ? 1 : 2;
  if (training.workers < least || training.workers > kPeersMost) {
    throw usage_error("--workers is " + std::to_string(training.workers) + "; a simulated " +
                      job::Value<job::Topology>::text(job.peers.topology) + " takes " +
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
                         .format = compress::Compression::parse(training.compress.text).format,
                         .heartbeat_timeout = job.heartbeat_timeout};
  for (const std::string& fault : job.cluster.faults) {
    options.faults.push_back(sim::parse_fault(fault, training.workers));
  }
  peers::check_faults(options.faults);
  return options;
}

}  // namespace

Peers::Peers(const job::SimulateJob& job, const job::ReadFile& read_file)
    : options_(options_of(job)), timing_(make_timing(job, read_file)) {}

peer::Setting Peers::setting() const {
  const bool ring = options_.kind == peers::Kind::kRing;
  return {.topology = ring ? job::Topology::kRing : job::Topology::kGossip,
          .batches = options_.batches,
          .evaluate_every = peers::kEvaluateEvery,
          .averaging = options_.averaging,
          .graph = options_.graph,
          .average_every = options_.average_every,
          .seed = options_.seed};
}

peer::Outcome Peers::run(const peers::Decided& decided) {
  return peers::Cluster(options_, *timing_, nullptr, decided).run();
}

}  // namespace outpace::simulation

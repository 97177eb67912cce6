// Examples per second of a cluster, from a measured profile: by the coarse models, which are
// formulas, and by the fine ones, which simulate events.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/modelled_cluster.h"
#include "job/work.h"
#include "sim/overlap.h"
#include "throughput/cluster_kinds.h"
#include "throughput/coarse_cluster.h"
#include "throughput/fine.h"
#include "throughput/gossip_events.h"
#include "throughput/measured_profile.h"
#include "throughput/packing_costs.h"
#include "throughput/sampled_timing.h"
#include "worker/pace.h"

namespace outpace::throughput {

// The workers of a cluster, and how fast they are.
struct ModelledWorkers {
  std::vector<worker::Pace> paces;
  std::vector<double> factors;  // For computing; a trace's delays have theirs already.
  double trace_seconds = 0.0;   // How long the trace is, by time; 0 without one.
  DrawSeconds draw;
  Computing computing;            // A mini-batch has these times, or a phase of local steps.
  std::uint32_t local_steps = 0;  // A phase has these; 0: each mini-batch is pushed.

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(paces.size()); }
};

// A rate, and the number of examples mixed in an update: its own, and those of the gradients in
// flight meanwhile (throughput/efficiency.h).
struct ThroughputEstimate {
  Rate rate;
  double mixed_examples;
};

class ClusterModel {
 public:
  // Profile and cluster outlive the model. Throws a usage error that names the option. REQUIRES:
  // check(cluster) passed.
  ClusterModel(const MeasuredProfile& profile,
               const job::ModelledCluster& cluster,
               job::ReadFile read_file);

  // Throws a usage error that names the option, or the distribution.
  [[nodiscard]] ModelledWorkers workers(std::uint32_t count) const;

  // The same workers with that many local steps. REQUIRES: they push each mini-batch.
  [[nodiscard]] ModelledWorkers stepping(ModelledWorkers workers, std::uint32_t local_steps) const;

  // REQUIRES, here and below: the workers have the kind's local steps.
  // Throws a usage error if the policy is not possible with this number of workers.
  [[nodiscard]] CoarseCluster coarse_cluster(const ClusterKind& kind,
                                             const ModelledWorkers& workers) const;

  // REQUIRES: the cluster is modelled.
  [[nodiscard]] ThroughputEstimate coarse(const CoarseCluster& cluster,
                                          const ModelledWorkers& workers) const;
  // Unless the options say how many iterations, simulates more of them until the interval of chance
  // is narrower than 5 % of the rate, or than what the profile leaves open, or some 200,000
  // gradients (over links 20,000) were simulated.
  [[nodiscard]] ThroughputEstimate fine(const ClusterKind& kind,
                                        const ModelledWorkers& workers) const;
  // Tells the elementary operations of the first iterations that fine() simulates, ten of each
  // worker.
  void perform(const ClusterKind& kind,
               const ModelledWorkers& workers,
               const sim::Performed& performed) const;
  // Whether links limit the cluster. Then fine() may be far above coarse(), which knows neither
  // transfers that overlap with computing nor workers that come out of phase.
  [[nodiscard]] bool has_links() const { return wires_.bytes_per_second > 0.0; }
  // What packing costs and saves.
  [[nodiscard]] const PackingCosts& packing() const { return packing_; }
  // What to know of a free gossip whose workers seldom meet; empty otherwise.
  [[nodiscard]] std::string caveat_of_gossip() const;
  // Examples per second if workers computed without ever waiting.
  [[nodiscard]] double computing_alone(const ModelledWorkers& workers) const;

 private:
  [[nodiscard]] ThroughputEstimate by_events(const ClusterKind& kind,
                                             const ModelledWorkers& workers,
                                             const Spread& spread,
                                             std::uint32_t iterations) const;
  // The fine model's estimate, before it is widened.
  [[nodiscard]] ThroughputEstimate of_iterations(const ClusterKind& kind,
                                                 const ModelledWorkers& workers,
                                                 const Spread& spread,
                                                 std::uint32_t iterations) const;
  // A simulated cluster with a server; refers to itself and to the model.
  struct Simulated;
  [[nodiscard]] std::unique_ptr<Simulated> simulated(const ClusterKind& kind,
                                                     const ModelledWorkers& workers,
                                                     std::uint32_t iterations) const;
  // Over how long the workers' starts are spread: without rounds, workers meet on the links by
  // chance, at any time of an iteration.
  [[nodiscard]] Spread spread_of(const ClusterKind& kind, const ModelledWorkers& workers) const;
  // False if faster workers have not yet come to a bound on staleness, as the coarse model says
  // they will.
  [[nodiscard]] bool has_settled(const ClusterKind& kind,
                                 const ModelledWorkers& workers,
                                 const Rate& rate) const;
  // What a ring or a gossip of these workers costs.
  [[nodiscard]] RingCluster peers(Topology topology, std::uint32_t workers) const;
  // What packing costs: in rounds, all workers have had the same releases.
  [[nodiscard]] PackingCosts packing_of(const ClusterKind& kind,
                                        const ModelledWorkers& workers) const;
  // A worker's own time in an iteration, besides computing and messages.
  [[nodiscard]] double besides_seconds() const {
    return copying_seconds(profile_, wires_, packing_) + packing_.worker_seconds;
  }
  // `besides`, of SampledTimingOptions.
  [[nodiscard]] SampledTimingOptions timing(const ModelledWorkers& workers, double besides) const;
  [[nodiscard]] GossipOfEvents gossip_of_events(const ModelledWorkers& workers) const;
  [[nodiscard]] RingOfEvents ring_of_events(const ModelledWorkers& workers) const;
  // For a simulation with a server, from the beginning on; `spread` as in Spread.
  [[nodiscard]] std::uint32_t iterations_each(const ClusterKind& kind,
                                              const ModelledWorkers& workers,
                                              double spread) const;
  [[nodiscard]] std::uint32_t iterations_each() const;
  // Examples in a push of a worker.
  [[nodiscard]] double examples(const ModelledWorkers& workers) const {
    return static_cast<double>(profile_.batch) * std::max(1U, workers.local_steps);
  }
  // With what is not known of the profile's mean.
  [[nodiscard]] Rate widened(Rate rate) const;

  const MeasuredProfile& profile_;
  const job::ModelledCluster& options_;
  const job::ReadFile read_file_;
  const Wires wires_;
  const PackingCosts packing_;
  const std::optional<sim::Overlap> overlap_;  // For the transfers with one server.
  const std::optional<sim::Overlap> simple_;   // The same, as predictions simulate it.
  const std::vector<double> seconds_;
  const double uncertainty_;
};

}  // namespace outpace::throughput

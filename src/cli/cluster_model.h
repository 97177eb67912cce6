// Examples a second of a cluster, from a measured profile: by the coarse models, which are at once
// there, and by the fine ones.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster_options.h"
#include "throughput/coarse_cluster.h"
#include "throughput/fine.h"
#include "throughput/measured_profile.h"
#include "throughput/sampled_timing.h"
#include "worker/pace.h"

namespace outpace::cli {

// A cluster, but for its workers.
struct ClusterKind {
  std::string policy;  // Empty without a server.
  throughput::Topology topology;
  std::uint32_t shards;
};

// So many workers, and how fast they are.
struct ModelledWorkers {
  std::vector<worker::Pace> paces;
  std::vector<double> factors;  // Of computing; a trace's delays have theirs already.
  double trace_seconds = 0.0;   // How long the trace is, by time; 0 without one.
  throughput::DrawSeconds draw;
  throughput::Computing computing;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(paces.size()); }
};

// A rate, and how many examples are mixed in an update: those that go into it, and those of the
// gradients that are in flight meanwhile (throughput/efficiency.h).
struct ThroughputEstimate {
  throughput::Rate rate;
  double mixed_examples;
};

class ClusterModel {
 public:
  // Both belong to the caller. Throws a usage error that names the option.
  ClusterModel(const throughput::MeasuredProfile& profile, const ModelledClusterOptions& options);

  // Throws a usage error that names the option, or the distribution.
  [[nodiscard]] ModelledWorkers workers(std::uint32_t count) const;

  // Throws a usage error if the policy is not possible with so many workers.
  [[nodiscard]] throughput::CoarseCluster coarse_cluster(const ClusterKind& kind,
                                                         const ModelledWorkers& workers) const;

  [[nodiscard]] ThroughputEstimate coarse(const throughput::CoarseCluster& cluster,
                                          const ModelledWorkers& workers) const;
  [[nodiscard]] ThroughputEstimate fine(const ClusterKind& kind,
                                        const ModelledWorkers& workers) const;
  // Examples a second if workers did nothing but compute and nobody waited.
  [[nodiscard]] double computing_alone(const ModelledWorkers& workers) const;

 private:
  [[nodiscard]] ThroughputEstimate by_events(const ClusterKind& kind,
                                             const ModelledWorkers& workers) const;
  // Over how long the workers' beginnings are spread: those whom no round holds together meet on
  // the links by chance, at any time of an iteration.
  [[nodiscard]] double spread_seconds(const ClusterKind& kind,
                                      const ModelledWorkers& workers) const;
  [[nodiscard]] throughput::RingCluster ring() const;
  // `besides`, of SampledTimingOptions.
  [[nodiscard]] throughput::SampledTimingOptions timing(const ModelledWorkers& workers,
                                                        double besides) const;
  [[nodiscard]] throughput::Rate gossip_by_events(const ModelledWorkers& workers) const;
  [[nodiscard]] throughput::Rate ring_by_events(const ModelledWorkers& workers) const;
  // Of a simulation with a server, from the beginning on; `spread` as in throughput::Spread.
  [[nodiscard]] std::uint32_t iterations_each(const ClusterKind& kind,
                                              const ModelledWorkers& workers,
                                              double spread) const;
  [[nodiscard]] std::uint32_t iterations_each() const;
  // With what is not known of the profile's mean.
  [[nodiscard]] throughput::Rate widened(throughput::Rate rate) const;

  const throughput::MeasuredProfile& profile_;
  const ModelledClusterOptions& options_;
  const throughput::Wires wires_;
  const std::vector<double> seconds_;
  const double uncertainty_;
};

}  // namespace outpace::cli

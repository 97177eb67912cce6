// Predictions of many clusters from a measured profile: each kind of cluster, with each number of
// workers, by each model.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/predict_job.h"
#include "job/work.h"
#include "throughput/coarse_cluster.h"
#include "throughput/fine.h"
#include "throughput/measured_profile.h"

namespace outpace::throughput {

struct ClusterPrediction {
  job::PredictionModel model;
  std::uint32_t workers;
  std::string policy;  // Empty without a server.
  Topology topology;
  std::uint32_t shards;
  std::uint32_t local_steps;  // 0: each mini-batch is pushed.
  Rate rate;
  Bottleneck bottleneck;
};

struct ComputingAlone {
  std::uint32_t workers;
  double examples_per_second;  // If workers computed without ever waiting.
};

struct Sweep {
  std::vector<ClusterPrediction> predictions;  // At least one.
  std::vector<ComputingAlone> ideal;           // For each number of workers.
  std::string caveat;                          // About a free gossip, if one was asked for.
  std::string packing;                         // What it costs and saves; empty without any.
  // Policies that some number of workers is too small for, and why.
  std::map<std::string, std::string> left_out;
};

// Throws a usage error that names the option, also if no policy is possible. REQUIRES: check() of
// the job passed.
[[nodiscard]] Sweep predict_clusters(const MeasuredProfile& profile,
                                     const job::PredictJob& job,
                                     const job::ReadFile& read_file);

// The elementary operations of the job's only configuration, as a Chrome trace
// (operations_trace.h). Throws a usage error that names the option. REQUIRES: check() of the job
// passed, and its --trace is given.
[[nodiscard]] std::string trace_of_operations(const MeasuredProfile& profile,
                                              const job::PredictJob& job,
                                              const job::ReadFile& read_file);

// The policy, or without a server the topology; the shards and the local steps: "async, 4 shards".
[[nodiscard]] std::string kind_name(const ClusterPrediction& one);
// The predictions of each kind and model, by number of workers.
[[nodiscard]] std::vector<std::vector<const ClusterPrediction*>> by_kind_and_model(
    const std::vector<ClusterPrediction>& predictions);
// Where more workers gain nothing from there on, of one kind and model; nothing if they gain to the
// end.
[[nodiscard]] std::optional<std::size_t> saturated(
    const std::vector<const ClusterPrediction*>& sweep);

}  // namespace outpace::throughput

// What `outpace simulate` needs besides training: the cluster that its options describe, and the
// record and result of a run in virtual time.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "record/chrome_trace.h"
#include "record/decision_log.h"
#include "record/run_directory.h"
#include "sim/cluster.h"
#include "sim/timing.h"

namespace outpace::cli {

struct SimulatedCluster {
  std::string runtime;  // Empty: as kRuntimeByDefault, or what --delays says.
  std::string compute = "0s";
  std::uint32_t cores = 0;  // 0: one for each worker.
  std::string latency = "0s";
  std::string apply = "0s";
  bool oracle = false;
  std::vector<std::string> faults;
};
void add_cluster_options(CLI::App& command, SimulatedCluster& options);

// Throws a usage error if --oracle is beside a --policy that does not leave the decision to it.
void check_oracle(const SimulatedCluster& cluster, const JobOptions& job);

// Throws a usage error that names option, file or distribution.
[[nodiscard]] std::unique_ptr<sim::Timing> make_timing(const SimulatedCluster& cluster,
                                                       const WorkOptions& delays,
                                                       const JobOptions& job);

// The record of a run, if --out asks for one, and its result on the terminal.
class SimulatedRecord {
 public:
  // `policy` is whose decisions these are. Throws as a live run's record does.
  SimulatedRecord(const JobOptions& options,
                  const std::string& policy,
                  const std::string& resolved);

  // Nothing if there is no record.
  [[nodiscard]] sim::Cluster::Decided decided();
  void say(const std::string& line);

  struct About {
    std::string network;
    std::string data;
    const protocol::Manifest* manifest;    // Null without learning.
    const sim::Transfers::Options* links;  // Null without any; for the trace.
    double wall_seconds;
  };
  // Closes the record, and prints the result for people or, with --json, for programs.
  void finish(const sim::ClusterResult& result, const About& about);

 private:
  void keep_what_was_learnt(const sim::ClusterResult& result, const About& about);

  const JobOptions options_;
  const std::string policy_;
  std::unique_ptr<record::ChromeTrace> trace_;  // Null if none was asked for.
  std::optional<record::RunDirectory> directory_;
  std::optional<record::DecisionLogWriter> decisions_;
};

}  // namespace outpace::cli

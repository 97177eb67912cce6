// The record of a run in virtual time.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "job/simulate_job.h"
#include "record/chrome_trace.h"
#include "record/decision_log.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "sim/cluster.h"

namespace outpace::run {

// How a simulated run ended: its summary, and what only virtual time has.
struct SimulatedEnd {
  record::Summary summary;
  nlohmann::ordered_json json;  // The summary, and simulated_seconds, events and so on.
  std::string directory;        // Empty: it was not recorded.
};

// The record of a run, if --out asks for one.
class SimulatedRecord {
 public:
  // `policy` is whose decisions these are. Throws as a live run's record does.
  SimulatedRecord(const job::SimulateJob& job,
                  const std::string& policy,
                  const std::string& resolved);

  // Nothing if there is no record.
  [[nodiscard]] sim::Cluster::Decided decided();

  struct About {
    std::string network;
    std::string data;
    const protocol::Manifest* manifest;    // Null without learning.
    const sim::Transfers::Options* links;  // Null without any; for the trace.
    double wall_seconds;
  };
  // Closes the record.
  [[nodiscard]] SimulatedEnd finish(const sim::ClusterResult& result, const About& about);

 private:
  void keep_what_was_learnt(const sim::ClusterResult& result, const About& about);

  const job::SimulateJob job_;
  const std::string policy_;
  std::unique_ptr<record::ChromeTrace> trace_;  // Null if none was asked for.
  std::optional<record::RunDirectory> directory_;
  std::optional<record::DecisionLogWriter> decisions_;
};

}  // namespace outpace::run

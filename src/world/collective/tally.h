// The statistics of a run without a server, counted from the workers' reports.
//
// Pure: times are passed in. A ring's update is made when all live workers have reported that they
// applied it. Its examples are counted by the plan that the workers follow (peer/batch_plan.h), so
// a worker that dies between applying and reporting does not change the count. In a gossip every
// gradient is an update of one worker's weights.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "collective/reported.h"
#include "peer/batch_plan.h"
#include "protocol/messages.h"
#include "server/statistics.h"
#include "worker/topology.h"

namespace outpace::collective {

using worker::Topology;

class Tally {
 public:
  // `batches`: as the workers have it. Only `workers` counts for a gossip. REQUIRES: not kServer.
  Tally(Topology topology, const peer::BatchPlanOptions& batches);

  void joined(WorkerId worker, const std::string& host);
  void left(WorkerId worker);
  // A worker applied an update, in a ring that of all workers. It reports its own gradient. `now`:
  // on the run's clock. REQUIRES: the worker of the report belongs to this run.
  void gradient(Time now, const protocol::Push& report, const Reported& told);
  // A ring goes on from this version with these workers.
  void formed(Time now, Version version, const std::vector<WorkerId>& members);
  // No more reports will come; in the last update of a ring, some workers may have no examples.
  void finish();

  [[nodiscard]] const server::Statistics& statistics() const { return statistics_; }
  [[nodiscard]] std::uint32_t live() const;
  // Updates that every live worker has reported (ring), or all updates (gossip).
  [[nodiscard]] Version version() const { return Version{statistics_.updates}; }

 private:
  // A ring's updates up to this one are made.
  void count_updates(Time now, std::uint64_t updates);

  // Constant after construction.
  const Topology topology_;
  const std::uint64_t examples_;
  // State.
  peer::BatchPlan plan_;
  server::Statistics statistics_;
  std::vector<std::uint64_t> reported_;  // The newest sequence number, by worker.
  Time last_report_{};
};

}  // namespace outpace::collective

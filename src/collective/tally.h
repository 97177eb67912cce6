// The statistics of a run without a server, counted from the workers' reports.
//
// Pure: times are passed in. An update of a ring is one gradient from each worker, and is complete
// when all have reported. In a gossip every gradient is an update of one worker's weights.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "server/statistics.h"

namespace outpace::collective {

enum class Topology : std::uint8_t { kRing, kGossip };

class Tally {
 public:
  // `examples`: the size of the data set. REQUIRES: workers >= 1, examples >= 1.
  Tally(Topology topology, std::uint32_t workers, std::uint64_t examples);

  void joined(WorkerId worker, const std::string& host);
  void left(WorkerId worker);
  // A worker computed its next gradient, `runtime` seconds after it had the weights, and reports it
  // at `now` on the run's clock. REQUIRES: the worker of the report belongs to this run.
  void gradient(Time now, const protocol::Push& report, float runtime);
  // No more reports will come; in the last update of a ring, some workers may have no examples.
  void finish();

  [[nodiscard]] const server::Statistics& statistics() const { return statistics_; }
  [[nodiscard]] std::uint32_t live() const;
  // Updates that every worker has reported (ring), or all updates (gossip).
  [[nodiscard]] Version version() const { return Version{statistics_.updates}; }

 private:
  // Constant after construction.
  const Topology topology_;
  const std::uint64_t examples_;
  // State.
  server::Statistics statistics_;
  std::vector<std::uint64_t> reported_;  // The newest sequence number, by worker.
};

}  // namespace outpace::collective

// What a run without a server has done so far, counted from what its workers report.
//
// Pure: times are passed in. A ring's update is one gradient of each worker, and over when all have
// reported theirs; in a gossip every gradient is an update, of one worker's weights.

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
  // REQUIRES: workers >= 1, examples (of the data set) >= 1.
  Tally(Topology topology, std::uint32_t workers, std::uint64_t examples);

  void joined(WorkerId worker, const std::string& host);
  void left(WorkerId worker);
  // A worker computed its next gradient, `runtime` seconds after it had the weights; it is reported
  // at `now`, on the run's clock. REQUIRES: the worker of the report is one of this run.
  void gradient(Time now, const protocol::Push& report, float runtime);
  // No report comes any more: in a ring's last update not all have examples.
  void finish();

  [[nodiscard]] const server::Statistics& statistics() const { return statistics_; }
  [[nodiscard]] std::uint32_t live() const;
  // Updates that every worker has reported (ring), or all (gossip).
  [[nodiscard]] Version version() const { return Version{statistics_.updates}; }

 private:
  // Constant after construction.
  const Topology topology_;
  const std::uint64_t examples_;
  // State.
  server::Statistics statistics_;
  std::vector<std::uint64_t> reported_;  // The newest sequence, by worker.
};

}  // namespace outpace::collective

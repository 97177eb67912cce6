// Whether this worker's computing has stalled: it has been at a mini-batch for longer than its own
// runtimes explain (server/stall.h). All others of a ring wait for such a worker, and cannot tell
// from outside who it is, because its heart beats on. So its heart stops.
//
// Explicit time, no threads: member.h guards it.

#pragma once

#include <optional>
#include <vector>

#include "base/time.h"
#include "server/stall.h"

namespace outpace::collective {

class ProgressWatch {
 public:
  explicit ProgressWatch(server::StallRule rule) : rule_(rule) {}

  // A mini-batch begins, or ends. REQUIRES: in turn.
  void begin(Time now);
  void end(Time now);

  // How long the present mini-batch has taken, if that is too long.
  [[nodiscard]] std::optional<Duration> stalled(Time now) const;

 private:
  server::StallRule rule_;
  std::optional<Time> begun_;    // The present mini-batch began then.
  std::uint32_t ended_ = 0;      // Mini-batches.
  std::vector<float> runtimes_;  // The last ones', in seconds.
};

}  // namespace outpace::collective

// When a worker that has become slow is worth an alarm: after a second. Where mini-batches take a
// millisecond, a busy machine slows down some worker many times a second.

#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "watch/alarms.h"
#include "watch/slow_watch.h"
#include "watch/worker_view.h"

namespace outpace::watch {

class SlowAlarms {
 public:
  // What the watch has found. Says that the alarm is over, if there was one, when it is.
  [[nodiscard]] std::optional<Alarm> see(Time now, const SlowChange& change);
  // The alarms that begin now. REQUIRES: `workers` has each that see() was told of.
  [[nodiscard]] std::vector<Alarm> due(Time now,
                                       const SlowWatch& watch,
                                       const std::vector<WorkerView>& workers);
  void forget(WorkerId worker) { held_.erase(worker); }
  void forget_all() { held_.clear(); }

 private:
  struct Held {
    Time since{};
    SlowChange change;
  };
  std::map<std::optional<WorkerId>, Held> held_;  // By worker; nothing: the cluster.
};

}  // namespace outpace::watch

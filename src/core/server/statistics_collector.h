// Counts what a run does, for the record and for people: the coordinator calls it as things happen.
//
// It decides nothing. All that it keeps is in Statistics, a plain value that others read.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/prefetch.h"
#include "base/time.h"
#include "server/statistics.h"
#include "update/judgement.h"

namespace outpace::server {

// A gradient that an update was made of.
struct AppliedGradient {
  WorkerId worker{};
  std::uint64_t staleness = 0;
  std::uint32_t examples = 0;
  bool partial = false;
  std::optional<double> loss;  // Nothing: its worker does not know it.
};

class StatisticsCollector {
 public:
  // REQUIRES, in all calls below: the worker has joined, now or before.
  void joined(WorkerId worker, const std::string& host);
  void left(WorkerId worker) { of(worker).live = of(worker).stalled = false; }
  void stalled(WorkerId worker) {
    of(worker).live = false;
    of(worker).stalled = true;
    ++of(worker).stalls;
  }
  void returned(WorkerId worker) {
    of(worker).live = true;
    of(worker).stalled = false;
  }

  // A gradient has come, whatever becomes of it.
  void arrived(WorkerId worker, Duration runtime, double compute_seconds);
  void dropped(WorkerId worker) {
    ++of(worker).dropped;
    ++statistics_.gradients_dropped;
  }
  // Refused because it is not finite, or filtered.
  void turned_away(WorkerId worker, update::Judgement judgement);
  void abandoned(WorkerId worker) {
    ++of(worker).cancelled;
    ++statistics_.gradients_cancelled;
  }
  void left_out(std::uint64_t examples) { statistics_.examples_left_out += examples; }
  // It died while it computed.
  void lost(WorkerId worker) { ++of(worker).lost; }
  // A release has ended: nothing was applied of the worker's last `in_vain` ones.
  void ended(WorkerId worker, std::uint64_t in_vain) {
    WorkerStatistics& counts = of(worker);
    counts.starved = in_vain > counts.starved ? in_vain : counts.starved;
  }

  // An update of these gradients. `now` is on the run's clock.
  void updated(Time now, std::span<const AppliedGradient> gradients);
  struct Epochs {
    std::uint64_t complete;
    std::uint64_t used_min;  // As in Statistics.
    std::uint64_t used_max;
  };
  void epochs(const Epochs& epochs) {
    statistics_.epochs_complete = epochs.complete;
    statistics_.examples_used_per_epoch_min = epochs.used_min;
    statistics_.examples_used_per_epoch_max = epochs.used_max;
  }
  // What gradients and weights have taken since the driver began.
  void carried(const protocol::Traffic& traffic) {
    statistics_.traffic = {.gradients = before_.gradients + traffic.gradients,
                           .weights = before_.weights + traffic.weights};
  }
  void choice(const policy::Policy& policy) {
    if (policy::Expectations found; policy.expectations(found)) {
      statistics_.choice = std::move(found);
    }
  }
  void noise_scale(std::optional<double> examples) { statistics_.gradient_noise_scale = examples; }

  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  // Leaves none.
  void keep(Archive& archive) {
    statistics_.keep(archive);
    before_ = archive.reads() ? statistics_.traffic : before_;
  }
  [[nodiscard]] Statistics take() { return std::exchange(statistics_, {}); }

  // ---- Prefetching, as in coordinator.h ----

  void prefetch_counts(WorkerId worker) const { prefetch(statistics_.workers[index(worker)]); }
  // Where its next gradient is counted, if that is of about this staleness.
  void prefetch_gradient(WorkerId worker, std::uint64_t staleness) const;

 private:
  WorkerStatistics& of(WorkerId worker) { return statistics_.workers[index(worker)]; }

  Statistics statistics_;
  protocol::Traffic before_;  // Under earlier servers of this run.
};

inline void StatisticsCollector::arrived(WorkerId worker,
                                         Duration runtime,
                                         double compute_seconds) {
  WorkerStatistics& counts = of(worker);
  counts.compute_seconds += compute_seconds;
  counts.runtimes.push_back(static_cast<float>(to_seconds(runtime)));
}

inline void StatisticsCollector::prefetch_gradient(WorkerId worker, std::uint64_t staleness) const {
  // It grows by up to one with each event until then.
  constexpr std::uint64_t kOneLine = kCacheLine / sizeof(statistics_.staleness.front());
  if (staleness + kOneLine < statistics_.staleness.size()) {
    prefetch_line(&statistics_.staleness[staleness]);
    prefetch_line(&statistics_.staleness[staleness + kOneLine]);
  }
  const std::vector<float>& runtimes = statistics_.workers[index(worker)].runtimes;
  prefetch_line(runtimes.data() + runtimes.size());  // Where the next one goes.
}

}  // namespace outpace::server

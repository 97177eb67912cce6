// Workers that compute as long as is drawn for them: measured iterations, with replacement, or
// runtimes of a distribution (sim/runtimes.h).
//
// What a worker draws is a pure function of seed, worker, iteration and start, so that two policies
// meet the same runtimes. A trace of delays comes on top, as live: a worker sleeps, then computes.
//
// Workers that are not held together by a policy are in no particular phase to each other: each may
// begin at a time of its own.

#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sim/cores.h"
#include "sim/timing.h"
#include "worker/pace.h"

namespace outpace::throughput {

// Seconds of a full mini-batch begun at `start`, before the worker's factor. A pure function.
using DrawSeconds = std::function<double(WorkerId, std::uint64_t iteration, Time start)>;

// REQUIRES: not empty.
[[nodiscard]] DrawSeconds draw_measured(std::vector<double> seconds, std::uint64_t seed);

struct SampledTimingOptions {
  DrawSeconds draw;
  double besides = 0.0;  // What each takes on top, whatever its share: the worker's messages.
  std::vector<worker::Pace> paces;  // Of each worker.
  std::vector<double> factors;      // Of each worker; at least 1.
  std::uint32_t cores = 0;          // That workers share for computing; 0: one each.
  std::vector<double> begins;       // Of each worker, seconds; empty: all at once.
};

class SampledTiming final : public sim::Timing {
 public:
  explicit SampledTiming(SampledTimingOptions options)
      : options_(std::move(options)), cores_(options_.cores) {}

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;

 private:
  [[nodiscard]] double computing(WorkerId worker, std::uint64_t iteration, Time start) const;
  // When a mini-batch that was begun at `start` begins indeed.
  [[nodiscard]] Time begin(WorkerId worker, Time start, std::uint64_t iteration) const;

  const SampledTimingOptions options_;
  sim::Cores cores_;
};

}  // namespace outpace::throughput

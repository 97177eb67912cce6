// Worker timing that draws each mini-batch: from measured iterations with replacement, or from a
// distribution of runtimes (sim/runtimes.h).
//
// A draw is a pure function of seed, worker, iteration and start, so that two policies meet the
// same runtimes. A trace of delays is added as in a live run: a worker sleeps, then computes.
//
// Workers that no barrier synchronises have arbitrary phases, so each may have its own starting
// time.

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

// Seconds of a full mini-batch that begins at `start`, before the worker's factor. Must be pure.
using DrawSeconds = std::function<double(WorkerId, std::uint64_t iteration, Time start)>;

// REQUIRES: not empty.
[[nodiscard]] DrawSeconds draw_measured(std::vector<double> seconds, std::uint64_t seed);

struct SampledTimingOptions {
  DrawSeconds draw;
  double besides = 0.0;  // Added to each mini-batch, whatever its share: the worker's messages.
  std::vector<worker::Pace> paces;  // By worker.
  std::vector<double> factors;      // By worker; at least 1.
  std::uint32_t cores = 0;          // Shared by all workers for computing; 0: one each.
  // Mini-batches of a phase of local steps, which has its messages once; 0: each is pushed.
  std::uint32_t local_steps = 0;
  std::vector<double> begins;  // Starting times by worker, in seconds; empty: all start at once.
};

class SampledTiming final : public sim::Timing {
 public:
  explicit SampledTiming(SampledTimingOptions options)
      : options_(std::move(options)), cores_(options_.cores) {}

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] Time computes_from(
      WorkerId worker, Time start, Time done, double share, std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;

 private:
  [[nodiscard]] double computing(WorkerId worker, std::uint64_t iteration, Time start) const;
  [[nodiscard]] Duration length(WorkerId worker,
                                Time start,
                                double share,
                                std::uint64_t iteration) const;
  // When a mini-batch released at `start` really begins.
  [[nodiscard]] Time begin(WorkerId worker, Time start, std::uint64_t iteration) const;

  const SampledTimingOptions options_;
  sim::Cores cores_;
};

}  // namespace outpace::throughput

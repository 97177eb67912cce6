// Workers that compute as long as measured iterations took, drawn with replacement.
//
// What a worker draws is a pure function of seed, worker and iteration, so that two policies meet
// the same runtimes. A trace of delays comes on top, as live: a worker sleeps, then computes.
//
// Workers that are not held together by a policy are in no particular phase to each other. With a
// spread their first mini-batches begin at times of their own, uniformly drawn.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sim/cores.h"
#include "sim/timing.h"
#include "worker/pace.h"

namespace outpace::throughput {

struct SampledTimingOptions {
  std::vector<double> seconds;  // Of a full mini-batch; not empty.
  double besides = 0.0;  // What each takes on top, whatever its share: the worker's messages.
  std::vector<worker::Pace> paces;  // Of each worker.
  std::vector<double> factors;      // Of each worker; at least 1.
  std::uint32_t cores = 0;          // That workers share for computing; 0: one each.
  double spread = 0.0;  // Seconds, at least 0: each worker begins so much later at most.
  std::uint64_t seed = 1;
};

// The seconds of a mini-batch, before the worker's factor.
[[nodiscard]] double sampled_seconds(const std::vector<double>& seconds,
                                     std::uint64_t seed,
                                     WorkerId worker,
                                     std::uint64_t iteration);

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
  [[nodiscard]] double computing(WorkerId worker, std::uint64_t iteration) const;
  // When a mini-batch that was begun at `start` begins indeed.
  [[nodiscard]] Time spread(WorkerId worker, Time start, std::uint64_t iteration) const;

  const SampledTimingOptions options_;
  sim::Cores cores_;
};

}  // namespace outpace::throughput

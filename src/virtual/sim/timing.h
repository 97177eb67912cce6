// How long workers compute: by a distribution of runtimes, or at the pace of a trace of delays.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sim/cores.h"
#include "sim/runtimes.h"
#include "worker/pace.h"

namespace outpace::sim {

// A share is a fraction of a full mini-batch; `iteration` counts a worker's own, from 0.
class Timing {
 public:
  virtual ~Timing() = default;

  // When a share begun at `start` is done.
  [[nodiscard]] virtual Time finish(WorkerId worker,
                                    Time start,
                                    double share,
                                    std::uint64_t iteration) = 0;
  // From when on the worker computes the share begun at `start`, which is done at `done`: it may
  // sleep before, or wait for a processor.
  [[nodiscard]] virtual Time computes_from(WorkerId /*worker*/,
                                           Time start,
                                           Time /*done*/,
                                           double /*share*/,
                                           std::uint64_t /*iteration*/) {
    return start;
  }
  // The share that is done by `now`; infinite where a trace has no delay.
  [[nodiscard]] virtual double done(WorkerId worker,
                                    Time start,
                                    Time now,
                                    std::uint64_t iteration) = 0;
  // When a worker that was cancelled at `now` has the gradient of the share that it keeps.
  [[nodiscard]] virtual Time finish_part(WorkerId /*worker*/,
                                         Time /*start*/,
                                         Time now,
                                         double /*share*/,
                                         std::uint64_t /*iteration*/) {
    return now;
  }
};

// A runtime of its own for every mini-batch, drawn when it begins.
class DrawnTiming final : public Timing {
 public:
  // `factors` multiplies each worker's runtimes; if it is empty, they stay as drawn.
  DrawnTiming(Runtimes runtimes, std::vector<double> factors)
      : runtimes_(std::move(runtimes)), factors_(std::move(factors)) {}

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;

 private:
  [[nodiscard]] double seconds(WorkerId worker, Time start, std::uint64_t iteration) const;

  const Runtimes runtimes_;
  const std::vector<double> factors_;
};

// Phases of local steps: each of a release's mini-batches has a runtime of its own.
class SteppedTiming final : public Timing {
 public:
  // `most`: mini-batches of a whole phase; at least 1.
  SteppedTiming(std::unique_ptr<Timing> one, std::uint32_t most)
      : one_(std::move(one)), most_(most) {}

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;
  // The mini-batch that it is at is finished.
  [[nodiscard]] Time finish_part(
      WorkerId worker, Time start, Time now, double share, std::uint64_t iteration) override;

 private:
  const std::unique_ptr<Timing> one_;
  const std::uint32_t most_;
};

// Live workers of one machine that keep the pace of --delays: each first sleeps, then computes.
class PacedTiming final : public Timing {
 public:
  // `compute`: of a full mini-batch, without any delay. The workers share `cores` processors; 0:
  // each has its own. REQUIRES: a pace for each worker, and starts that never decrease.
  PacedTiming(std::vector<worker::Pace> paces, Duration compute, std::uint32_t cores)
      : paces_(std::move(paces)), compute_(compute), cores_(cores) {}

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;
  [[nodiscard]] Time finish_part(
      WorkerId worker, Time start, Time now, double share, std::uint64_t iteration) override;

 private:
  [[nodiscard]] Duration computing(const worker::Pace& pace, double share) const;

  const std::vector<worker::Pace> paces_;
  const Duration compute_;
  Cores cores_;
};

}  // namespace outpace::sim

#include "throughput/sampled_timing.h"

#include <algorithm>

#include "base/check.h"
#include "base/rng.h"

namespace outpace::throughput {

DrawSeconds draw_measured(std::vector<double> seconds, std::uint64_t seed) {
  CHECK(!seconds.empty());
  return [seconds = std::move(seconds), seed](
             WorkerId worker, std::uint64_t iteration, Time /*start*/) {
    constexpr std::uint64_t kIterationsApart = std::uint64_t{1} << 32U;
    Rng rng(seed, index(worker) * kIterationsApart + iteration);
    return seconds[rng.below(seconds.size())];
  };
}

double SampledTiming::computing(WorkerId worker, std::uint64_t iteration, Time start) const {
  return options_.factors[index(worker)] * options_.draw(worker, iteration, start);
}

Time SampledTiming::begin(WorkerId worker, Time start, std::uint64_t iteration) const {
  const bool first = iteration == 0 && !options_.begins.empty();
  return first ? start + from_seconds(options_.begins[index(worker)]) : start;
}

Time SampledTiming::finish(WorkerId worker, Time start, double share, std::uint64_t iteration) {
  const Time awake =
      options_.paces[index(worker)].finish(begin(worker, start, iteration), share, iteration);
  return cores_.finish(start, awake, length(worker, start, share, iteration));
}

Duration SampledTiming::length(WorkerId worker,
                               Time start,
                               double share,
                               std::uint64_t iteration) const {
  return from_seconds(share * computing(worker, iteration, start) + options_.besides);
}

Time SampledTiming::computes_from(
    WorkerId worker, Time start, Time done, double share, std::uint64_t iteration) {
  return done - length(worker, start, share, iteration);
}

double SampledTiming::done(WorkerId worker, Time start, Time now, std::uint64_t iteration) {
  start = std::min(now, begin(worker, start, iteration));
  // With a trace of delays, progress is the part of the delay that has passed; computing follows
  // it.
  const double slept = options_.paces[index(worker)].done(start, now, iteration);
  return std::min(slept, to_seconds(now - start) / computing(worker, iteration, start));
}

}  // namespace outpace::throughput

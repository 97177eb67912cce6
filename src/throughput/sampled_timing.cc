#include "throughput/sampled_timing.h"

#include <algorithm>

#include "base/rng.h"

namespace outpace::throughput {

double sampled_seconds(const std::vector<double>& seconds,
                       std::uint64_t seed,
                       WorkerId worker,
                       std::uint64_t iteration) {
  constexpr std::uint64_t kIterationsApart = std::uint64_t{1} << 32U;
  Rng rng(seed, index(worker) * kIterationsApart + iteration);
  return seconds[rng.below(seconds.size())];
}

double SampledTiming::computing(WorkerId worker, std::uint64_t iteration) const {
  return options_.factors[index(worker)] *
         sampled_seconds(options_.seconds, options_.seed, worker, iteration);
}

Time SampledTiming::spread(WorkerId worker, Time start, std::uint64_t iteration) const {
  if (iteration != 0 || options_.spread == 0.0) {
    return start;
  }
  constexpr std::uint64_t kSpreadStream = std::uint64_t{1} << 63U;
  return start + from_seconds(options_.spread *
                              Rng(options_.seed, kSpreadStream + index(worker)).uniform());
}

Time SampledTiming::finish(WorkerId worker, Time start, double share, std::uint64_t iteration) {
  const Time awake =
      options_.paces[index(worker)].finish(spread(worker, start, iteration), share, iteration);
  const Duration length = from_seconds(share * computing(worker, iteration) + options_.besides);
  return cores_.finish(start, awake, length);
}

double SampledTiming::done(WorkerId worker, Time start, Time now, std::uint64_t iteration) {
  start = std::min(now, spread(worker, start, iteration));
  // By a trace a mini-batch is as much done as its delay is over; the computing comes after it.
  const double slept = options_.paces[index(worker)].done(start, now, iteration);
  return std::min(slept, to_seconds(now - start) / computing(worker, iteration));
}

}  // namespace outpace::throughput

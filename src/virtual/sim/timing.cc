#include "sim/timing.h"

#include <algorithm>
#include <cmath>

namespace outpace::sim {

Time DrawnTiming::finish(WorkerId worker, Time start, double share, std::uint64_t iteration) {
  return start + from_seconds(share * seconds(worker, start, iteration));
}

double DrawnTiming::done(WorkerId worker, Time start, Time now, std::uint64_t iteration) {
  return to_seconds(now - start) / seconds(worker, start, iteration);
}

double DrawnTiming::seconds(WorkerId worker, Time start, std::uint64_t iteration) const {
  const double drawn = runtimes_.at(worker, iteration, start);
  return factors_.empty() ? drawn : factors_[index(worker)] * drawn;
}

Time SteppedTiming::finish(WorkerId worker, Time start, double share, std::uint64_t iteration) {
  Time at = start;
  const auto steps = static_cast<std::uint64_t>(std::ceil(share));
  for (std::uint64_t step = 0; step < steps; ++step) {
    const double left = share - static_cast<double>(step);
    at = one_->finish(worker, at, std::min(left, 1.0), iteration * most_ + step);
  }
  return at;
}

double SteppedTiming::done(WorkerId worker, Time start, Time now, std::uint64_t iteration) {
  double share = 0.0;
  for (std::uint64_t step = iteration * most_;; ++step, share += 1.0) {
    const Time end = one_->finish(worker, start, 1.0, step);
    if (end > now) {
      return share + one_->done(worker, start, now, step);
    }
    start = end;
  }
}

Time SteppedTiming::finish_part(
    WorkerId worker, Time start, Time now, double share, std::uint64_t iteration) {
  return std::max(now, finish(worker, start, share, iteration));
}

Time PacedTiming::finish(WorkerId worker, Time start, double share, std::uint64_t iteration) {
  const worker::Pace& pace = paces_[index(worker)];
  return cores_.finish(start, pace.finish(start, share, iteration), computing(pace, share));
}

double PacedTiming::done(WorkerId worker, Time start, Time now, std::uint64_t iteration) {
  return paces_[index(worker)].done(start, now, iteration);
}

Time PacedTiming::finish_part(
    WorkerId worker, Time /*start*/, Time now, double share, std::uint64_t /*iteration*/) {
  return cores_.finish(now, now, computing(paces_[index(worker)], share));
}

Duration PacedTiming::computing(const worker::Pace& pace, double share) const {
  const double seconds = to_seconds(compute_) * share;
  return from_seconds(seconds + pace.extra_seconds(seconds));
}

}  // namespace outpace::sim

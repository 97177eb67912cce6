#include "runtime_model/last.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "runtime_model/prior_spread.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeepChanges = 0.99;  // Weight of the past changes after an iteration.

}  // namespace

void Last::observe(std::span<const Observation> iteration) {
  grid_.follow(iteration);
  if (last_.empty()) {
    last_.assign(iteration.size(), 0.0);
    squares_ = kPriorSigma * kPriorSigma * kPriorCount;
    count_ = kPriorCount;
  }
  CHECK(iteration.size() == last_.size());
  squares_ *= kKeepChanges;
  count_ *= kKeepChanges;
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    const Observation& seen = iteration[w];
    if (seen.fate == Fate::kArrived) {
      if (last_[w] > 0.0) {
        const double change = std::log(seen.seconds / last_[w]);
        squares_ += change * change;
        count_ += 1.0;
      }
      last_[w] = seen.seconds;
    } else if (seen.fate == Fate::kLonger) {
      last_[w] = std::max(last_[w], seen.seconds);
    }
  }
}

void Last::correct(std::uint32_t worker, double seconds) {
  last_[worker] = seconds;
}

bool Last::forecast(Forecast& out) {
  if (last_.empty()) {
    return false;
  }
  const TimeGrid& grid = grid_.now();
  out.reset(grid, static_cast<std::uint32_t>(last_.size()));
  const double middle = grid.edge(grid.bins() / 2.0);  // For a worker that was never seen.
  centers_.clear();
  for (const double seconds : last_) {
    centers_.push_back(seconds > 0.0 ? seconds : middle);
  }
  out.set_lognormal_rows(centers_, std::sqrt(squares_ / count_));
  return true;
}

}  // namespace outpace::runtime_model

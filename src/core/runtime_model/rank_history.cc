#include "runtime_model/rank_history.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "runtime_model/draws.h"

namespace outpace::runtime_model {
namespace {

constexpr std::size_t kPerDraw = 2;  // Iterations kept, per draw that an independent forecast gets.
constexpr std::size_t kFewest = 32;  // With fewer iterations there are no ranks.
constexpr double kLeast = 1e-4;      // Ranks are within [this, 1 - this].

}  // namespace

void RankHistory::observe(const Forecast& forecast, std::span<const Observation> iteration) {
  CHECK(forecast.workers() == iteration.size());
  if (workers_ == 0) {
    workers_ = iteration.size();
    kept_ = kPerDraw * draws_for(forecast.workers());
  }
  if (ranks_.size() < kept_ * workers_) {
    ranks_.resize(ranks_.size() + workers_);
  }
  float* const row = ranks_.data() + next_ * workers_;
  next_ = (next_ + 1) % kept_;
  for (std::uint32_t w = 0; w < workers_; ++w) {
    const double within = rng_.uniform();
    const double at = forecast.grid().position(iteration[w].seconds);
    double rank = within;  // A busy worker: nothing is known.
    if (iteration[w].fate == Fate::kArrived) {
      const double below = forecast.cdf(w, std::floor(at));
      rank = below + within * (forecast.cdf(w, std::floor(at) + 1.0) - below);
    } else if (iteration[w].fate == Fate::kLonger) {
      const double by_then = forecast.cdf(w, at);
      rank = by_then + within * (1.0 - by_then);
    }
    row[w] = static_cast<float>(std::clamp(rank, kLeast, 1.0 - kLeast));
  }
}

std::span<const float> RankHistory::ranks() const {
  return ranks_.size() < kFewest * workers_ ? std::span<const float>() : ranks_;
}

}  // namespace outpace::runtime_model

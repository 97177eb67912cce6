#include "runtime_model/auto_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeep = 0.98;
constexpr double kSpread = 1e-3;  // Of each density, evenly over the grid.

}  // namespace

double mean_log_likelihood(const Forecast& forecast, std::span<const Observation> iteration) {
  const TimeGrid& grid = forecast.grid();
  double sum = 0.0;
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < iteration.size(); ++w) {
    const Observation& seen = iteration[w];
    if (seen.fate == Fate::kBusy) {
      continue;
    }
    double chance = 0.0;
    if (seen.fate == Fate::kArrived) {
      const std::uint32_t bin = grid.bin(seen.seconds);
      const double mass = forecast.row(w)[bin + 1] - forecast.row(w)[bin];
      chance = (1.0 - kSpread) * mass / grid.step() + kSpread / (grid.step() * grid.bins());
    } else {
      const double longer = 1.0 - forecast.cdf(w, grid.position(seen.seconds));
      chance = (1.0 - kSpread) * longer + kSpread;
    }
    sum += std::log(chance);
    ++count;
  }
  return count == 0 ? 0.0 : sum / count;
}

AutoModel::AutoModel(std::vector<Candidate> candidates) {
  CHECK(!candidates.empty());
  for (Candidate& candidate : candidates) {
    scored_.push_back({.name = std::move(candidate.name),
                       .model = std::move(candidate.model),
                       .forecast = {},
                       .has_forecast = false,
                       .score = 0.0});
  }
}

void AutoModel::observe(std::span<const Observation> iteration) {
  for (Scored& scored : scored_) {
    if (scored.has_forecast) {
      scored.score = kKeep * scored.score + mean_log_likelihood(scored.forecast, iteration);
    }
    scored.model->observe(iteration);
    scored.has_forecast = false;
  }
  for (std::size_t i = 0; i < scored_.size(); ++i) {
    best_ = scored_[i].score > scored_[best_].score ? i : best_;
  }
}

void AutoModel::correct(std::uint32_t worker, double seconds) {
  for (Scored& scored : scored_) {
    scored.model->correct(worker, seconds);
  }
}

bool AutoModel::forecast(Forecast& out) {
  for (Scored& scored : scored_) {
    scored.has_forecast = scored.model->forecast(scored.forecast);
  }
  if (!scored_[best_].has_forecast) {
    return false;
  }
  out = scored_[best_].forecast;
  return true;
}

}  // namespace outpace::runtime_model

#include "runtime_model/auto_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeepScore = 0.98;  // From one iteration to the next.

}  // namespace

double mean_log_likelihood(const Forecast& forecast, std::span<const Observation> iteration) {
  std::uint32_t count = 0;
  for (const Observation& seen : iteration) {
    count += seen.fate == Fate::kBusy ? 0U : 1U;
  }
  if (count == 0) {
    return 0.0;
  }
  double most = -std::numeric_limits<double>::infinity();
  std::vector<double> logs;
  for (const Forecast::Shift& shift : forecast.shifts()) {
    logs.push_back(std::log(shift.chance) + log_likelihood(forecast, iteration, shift.bins));
    most = std::max(most, logs.back());
  }
  double sum = 0.0;
  for (const double one : logs) {
    sum += std::exp(one - most);
  }
  return (most + std::log(sum)) / count;
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
      scored.score = kKeepScore * scored.score + mean_log_likelihood(scored.forecast, iteration);
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

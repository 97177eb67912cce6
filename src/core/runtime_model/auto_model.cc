#include "runtime_model/auto_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeepScore = 0.98;  // Weight of the past scores after an iteration.

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
                       .seconds = candidate.seconds,
                       .forecast = {},
                       .has_forecast = false,
                       .score = 0.0});
  }
}

void AutoModel::leave_out_slow(std::span<const Observation> iteration) {
  constexpr double kShare = 0.25;  // Largest share of an iteration that a forecast may take.
  constexpr double kBack = 0.8;    // A model that was left out must need less than this of it.
  const auto quickest =
      std::min_element(scored_.begin(), scored_.end(), [](const Scored& one, const Scored& other) {
        return one.seconds < other.seconds;
      });
  const double most = std::max(
      kShare * recent_.take(iteration) / static_cast<double>(iteration.size()), quickest->seconds);
  double least_score = std::numeric_limits<double>::infinity();
  for (const Scored& one : scored_) {
    least_score = one.left_out ? least_score : std::min(least_score, one.score);
  }
  for (Scored& one : scored_) {
    if (one.left_out && one.seconds <= kBack * most) {
      one.left_out = false;
      one.score = least_score;  // What it has not forecast says nothing for it.
    } else if (one.seconds > most) {
      one.left_out = true;
      one.has_forecast = false;
    }
  }
}

void AutoModel::observe(std::span<const Observation> iteration) {
  leave_out_slow(iteration);
  for (Scored& scored : scored_) {
    if (scored.left_out) {
      continue;
    }
    if (scored.has_forecast) {
      scored.score = kKeepScore * scored.score + mean_log_likelihood(scored.forecast, iteration);
    }
    scored.model->observe(iteration);
    scored.has_forecast = false;
  }
  for (std::size_t i = 0; i < scored_.size(); ++i) {
    const bool better = scored_[best_].left_out || scored_[i].score > scored_[best_].score;
    best_ = better && !scored_[i].left_out ? i : best_;
  }
}

void AutoModel::correct(std::uint32_t worker, double seconds) {
  for (Scored& scored : scored_) {
    if (!scored.left_out) {
      scored.model->correct(worker, seconds);
    }
  }
}

void AutoModel::keep(Archive& archive) {
  std::vector<std::string> names;
  for (const Scored& scored : scored_) {
    names.push_back(scored.name);
  }
  const std::vector<std::string> own = names;
  archive("recent", recent_)("best", best_)("names", names);
  if (names != own || best_ >= scored_.size()) {
    throw Error(ExitCode::kUnreadable, "runtime models: others than the policy's");
  }
  for (Scored& scored : scored_) {
    archive.group(scored.name, [&] {
      archive("forecast", scored.forecast)("has_forecast", scored.has_forecast);
      archive("score", scored.score)("left_out", scored.left_out);
      archive.group("model", [&] { scored.model->keep(archive); });
    });
  }
}

bool AutoModel::forecast(Forecast& out) {
  for (Scored& scored : scored_) {
    scored.has_forecast = !scored.left_out && scored.model->forecast(scored.forecast);
  }
  if (!scored_[best_].has_forecast) {
    return false;
  }
  out = scored_[best_].forecast;
  return true;
}

}  // namespace outpace::runtime_model

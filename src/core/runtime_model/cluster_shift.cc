#include "runtime_model/cluster_shift.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace outpace::runtime_model {
namespace {

constexpr int kCoarse = 8;           // Bins between the shifts that are tried first.
constexpr int kFarthest = 208;       // The largest step of a shift, in bins: a factor of 13.
constexpr int kRound = 3;            // Bins; shifts that are closer count as equal.
constexpr double kEvidence = 12.0;   // Log-likelihood by which a shift must beat no shift.
constexpr std::size_t kMost = 32;    // Shifts in a forecast at most.
constexpr double kNearby = 0.02;     // Probability of a shift near, but not equal to, a past one.
constexpr double kKeepRatio = 0.95;  // Weight of the past ratio after an iteration.
constexpr double kUnseen = 1e-3;

int rounded(double bins) {
  return kRound * static_cast<int>(std::lround(bins / kRound));
}

std::vector<Forecast::Shift> to_chances(const std::map<int, double>& counts) {
  double sum = 0.0;
  for (const auto& [bins, count] : counts) {
    sum += count;
  }
  std::vector<Forecast::Shift> shifts;
  shifts.reserve(counts.size());
  for (const auto& [bins, count] : counts) {
    shifts.push_back({.bins = static_cast<double>(bins), .chance = count / sum});
  }
  return shifts;
}

double chance_of(const std::vector<Forecast::Shift>& shifts, int bins) {
  double chance = kUnseen;
  for (const Forecast::Shift& shift : shifts) {
    // Each past shift shares its weight with its neighbours, because values that were not seen can
    // occur too.
    const double apart = std::abs(shift.bins - bins) / kRound;
    chance += apart < 0.5 ? 0.5 * shift.chance : apart < 1.5 ? 0.25 * shift.chance : 0.0;
  }
  return chance;
}

}  // namespace

double ClusterShift::observe(const Forecast& forecast, std::span<const Observation> iteration) {
  const int last = seen_.empty() ? 0 : seen_.back();
  const double none = log_likelihood(forecast, iteration, 0.0);
  int best = 0;
  double most = none;
  const auto take = [&](int shift) {
    const double found = log_likelihood(forecast, iteration, shift);
    if (found > most) {
      most = found;
      best = shift;
    }
  };
  for (int step = -kFarthest; step <= kFarthest; step += kCoarse) {
    take(last + step);
  }
  const int around = best;
  for (int step = 1 - kCoarse; step < kCoarse; ++step) {
    take(around + step);
  }
  const int found = most - none > kEvidence ? best : 0;
  const int in_short = rounded(found);
  if (seen_.size() >= 2) {
    score_ = kKeepRatio * score_ + std::log(chance_of(by_step(), in_short)) -
             std::log(chance_of(by_value(), in_short));
  }
  seen_.push_back(in_short);
  if (seen_.size() > kKept) {
    seen_.erase(seen_.begin());
  }
  return found;
}

std::vector<Forecast::Shift> ClusterShift::by_value() const {
  std::map<int, double> counts;
  for (const int bins : seen_) {
    counts[bins] += 1.0;
  }
  return to_chances(counts);
}

std::vector<Forecast::Shift> ClusterShift::by_step() const {
  std::map<int, double> counts;
  for (std::size_t i = 1; i < seen_.size(); ++i) {
    counts[seen_.back() + seen_[i] - seen_[i - 1]] += 1.0;
  }
  return to_chances(counts);
}

std::vector<Forecast::Shift> ClusterShift::forecast() const {
  if (std::all_of(seen_.begin(), seen_.end(), [](int bins) { return bins == 0; })) {
    return {{}};
  }
  const double steps = seen_.size() < 3 ? 0.5 : 1.0 / (1.0 + std::exp(-score_));
  std::map<int, double> counts;
  const auto add = [&counts](const std::vector<Forecast::Shift>& shifts, double weight) {
    for (const Forecast::Shift& shift : shifts) {
      const int at = static_cast<int>(shift.bins);
      counts[at] += weight * (1.0 - kNearby) * shift.chance;
      counts[at - kRound] += weight * 0.5 * kNearby * shift.chance;
      counts[at + kRound] += weight * 0.5 * kNearby * shift.chance;
    }
  };
  add(by_value(), 1.0 - steps);
  add(by_step(), steps);
  std::vector<Forecast::Shift> shifts = to_chances(counts);
  std::sort(shifts.begin(), shifts.end(), [](const auto& one, const auto& other) {
    return one.chance > other.chance;
  });
  shifts.resize(std::min(shifts.size(), kMost));
  double sum = 0.0;
  for (const Forecast::Shift& shift : shifts) {
    sum += shift.chance;
  }
  for (Forecast::Shift& shift : shifts) {
    shift.chance /= sum;
  }
  return shifts;
}

}  // namespace outpace::runtime_model

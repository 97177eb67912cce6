#include "watch/change_point.h"

#include <algorithm>
#include <cmath>

namespace outpace::watch {
namespace {

const double kShift = std::log(1.5);  // What the test is best at; larger ones show sooner.
constexpr double kSpreadLeast = 0.06;
constexpr double kMemory = 100.0;      // Runtimes over which the baseline forgets.
constexpr double kLevelMemory = 20.0;  // The same for the level of a slow worker.

// log P(Z > x) of a standard normal Z.
double log_tail(double x) {
  constexpr double kFar = 30.0;  // Beyond, erfc underflows; it is bounded by the term's limit.
  return std::log(0.5 * std::erfc(std::min(x, kFar) / std::sqrt(2.0)));
}

}  // namespace

double ChangePoint::spread() const {
  // Known from few differences at first, so it is taken as wider.
  const double known = static_cast<double>(std::max<std::uint64_t>(seen_, 2));
  return std::max(kSpreadLeast, std::sqrt(half_squares_) * (1.0 + 1.5 / std::sqrt(known)));
}

double ChangePoint::term(Seen seen, double alternative, double usual) const {
  const double sigma = spread();
  const double to_alternative = (seen.log_seconds - alternative) / sigma;
  const double to_usual = (seen.log_seconds - usual) / sigma;
  const double ratio = seen.longer ? log_tail(to_alternative) - log_tail(to_usual)
                                   : 0.5 * (to_usual * to_usual - to_alternative * to_alternative);
  return std::clamp(ratio, -kTermMost, kTermMost);
}

void ChangePoint::learn(double log_seconds) {
  ++seen_;
  const double weight = std::max(1.0 / static_cast<double>(seen_), 1.0 / kMemory);
  if (seen_ > 1) {
    const double difference = log_seconds - last_;
    // A pause between two usual runtimes says little of their spread.
    const double half = 0.5 * difference * difference;
    const double most = seen_ > kWarmUp ? 9.0 * half_squares_ + kSpreadLeast * kSpreadLeast : half;
    half_squares_ += std::max(1.0 / static_cast<double>(seen_ - 1), 1.0 / kMemory) *
                     (std::min(half, most) - half_squares_);
  }
  mean_ += weight * (log_seconds - mean_);
  last_ = log_seconds;
}

Change ChangePoint::see(Seen seen) {
  if (!ready()) {
    if (!seen.longer) {
      learn(seen.log_seconds);
    }
    return Change::kNone;
  }
  if (!slow_) {
    sum_ = std::max(0.0, sum_ + term(seen, mean_ + kShift, mean_));
    if (sum_ < kThreshold / 3.0 && !seen.longer) {
      learn(seen.log_seconds);  // A baseline of low values alone would be too low.
    }
    if (sum_ == 0.0) {
      level_count_ = 0;
      level_ = 0.0;
      return Change::kNone;
    }
  }
  ++level_count_;
  level_ += (seen.log_seconds - level_) / std::min<double>(level_count_, kLevelMemory);
  if (!slow_) {
    if (sum_ <= kThreshold) {
      return Change::kNone;
    }
    slow_ = true;
    sum_ = 0.0;
    return Change::kSlow;
  }
  const double slow_level = std::max(level_, mean_ + kShift);
  sum_ = std::max(0.0, sum_ + term(seen, mean_, slow_level));
  if (sum_ <= kThreshold) {
    return Change::kNone;
  }
  slow_ = false;
  sum_ = 0.0;
  level_ = 0.0;
  level_count_ = 0;
  return Change::kRecovered;
}

double ChangePoint::factor() const {
  return slow_ ? std::max(1.0, std::exp(level_ - mean_)) : 1.0;
}

}  // namespace outpace::watch

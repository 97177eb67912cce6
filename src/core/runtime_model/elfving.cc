#include "runtime_model/elfving.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/normal_distribution.h"
#include "runtime_model/linear_gaussian.h"

namespace outpace::runtime_model {
namespace {

// The smallest sigma, as a share of the mean: a table needs some width.
constexpr double kLeastSigma = 1e-3;

struct Moments {
  double count = 0.0;
  double seconds = 0.0;
  double squares = 0.0;

  void add(double weight, double mean, double variance) {
    count += weight;
    seconds += weight * mean;
    squares += weight * (mean * mean + variance);
  }
  [[nodiscard]] Normal normal() const {
    const double mean = seconds / count;
    const double least = kLeastSigma * mean;
    return {.mean = mean, .variance = std::max(squares / count - mean * mean, least * least)};
  }
};

// The weight of each worker that was cut off: 1, or less if a normal expects fewer beyond `least`.
double weight_of_cut(ElfvingFit fit, const Normal& now, double least, double came, double cut) {
  if (fit == ElfvingFit::kCensored || came == 0.0) {  // Nothing else is known.
    return 1.0;
  }
  const double by_then = normal_cdf((least - now.mean) / std::sqrt(now.variance));
  return by_then * (cut + came) > came ? (1.0 - by_then) / by_then * came / cut : 1.0;
}

}  // namespace

// Expectation-maximisation: a worker that was cut off has the moments of its truncated normal.
Alike elfving_moments(std::span<const Observation> iteration, ElfvingFit fit) {
  constexpr int kSteps = 200;
  constexpr double kClose = 1e-6;  // In sigmas.
  Moments came;
  Moments all;
  double least = 0.0;  // The least time after which a worker was cut off.
  for (const Observation& seen : iteration) {
    if (seen.fate == Fate::kBusy) {
      continue;
    }
    all.add(1.0, seen.seconds, 0.0);
    if (seen.fate == Fate::kArrived) {
      came.add(1.0, seen.seconds, 0.0);
    } else {
      least = least > 0.0 ? std::min(least, seen.seconds) : seen.seconds;
    }
  }
  CHECK(all.count > 0.0);
  Normal now = all.normal();
  const double cut = all.count - came.count;
  for (int step = 0; step < kSteps && cut > 0.0 && fit != ElfvingFit::kObserved; ++step) {
    const double weight = weight_of_cut(fit, now, least, came.count, cut);
    Moments sums = came;
    for (const Observation& seen : iteration) {
      if (seen.fate == Fate::kLonger) {
        const Normal beyond = truncated(now, seen.seconds);
        sums.add(weight, beyond.mean, beyond.variance);
      }
    }
    const Normal before = std::exchange(now, sums.normal());
    if (std::abs(now.mean - before.mean) < kClose * std::sqrt(before.variance) &&
        std::abs(now.variance - before.variance) < kClose * before.variance) {
      break;
    }
  }
  // One degree of freedom is the mean's. A truncated sample has only those that arrived.
  const double sample = fit == ElfvingFit::kTruncated && came.count > 0.0 ? came.count : all.count;
  const double unbiased = sample > 1.0 ? sample / (sample - 1.0) : 1.0;
  return {.mean = now.mean, .sigma = std::sqrt(unbiased * now.variance)};
}

void Elfving::observe(std::span<const Observation> iteration) {
  grid_.follow(iteration);
  if (last_.empty()) {
    last_.assign(iteration.size(), {});
  }
  CHECK(iteration.size() == last_.size());
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    if (iteration[w].fate != Fate::kBusy) {
      last_[w] = iteration[w];
    }
  }
}

void Elfving::correct(std::uint32_t worker, double seconds) {
  last_[worker] = {.seconds = seconds, .fate = Fate::kArrived};
}

bool Elfving::forecast(Forecast& out) {
  if (last_.empty()) {
    return false;
  }
  out.reset(grid_.now(), static_cast<std::uint32_t>(last_.size()));
  out.set_normal_rows(elfving_moments(last_, fit_));
  return true;
}

}  // namespace outpace::runtime_model

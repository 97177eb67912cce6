#include "runtime_model/deep_features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "base/median.h"

namespace outpace::runtime_model {
namespace {

constexpr double kFollow = 0.05;       // Step of the reference towards an iteration's median,
constexpr double kFollowMost = 0.3;    // whose distance counts as this much at most.
constexpr double kLeastInMean = -2.0;  // In log seconds.
constexpr double kMostInMean = 3.0;
// Distances from the reference are clamped to this.
constexpr double kFarthestLog = 8.0;

float of(double log_seconds, double reference) {
  return static_cast<float>(std::clamp(log_seconds - reference, -kFarthestLog, kFarthestLog));
}

}  // namespace

void DeepFeatures::take(std::span<const Observation> iteration, std::vector<float>& out) {
  const std::size_t workers = iteration.size();
  logs_.clear();
  std::size_t cut_off = 0;
  for (const Observation& seen : iteration) {
    if (seen.fate != Fate::kBusy) {
      logs_.push_back(std::log(seen.seconds));
      cut_off += seen.fate == Fate::kLonger ? 1U : 0U;
    }
  }
  CHECK(!logs_.empty());
  const double median = upper_median(logs_);
  if (!begun_) {
    reference_ = median + ahead_;
    begun_ = true;
  }
  reference_ += kFollow * std::clamp(median - reference_, -kFollowMost, kFollowMost);
  double mean = 0.0;
  for (const double value : logs_) {
    mean += std::clamp(value - reference_, kLeastInMean, kMostInMean);
  }
  const auto count = static_cast<double>(logs_.size());
  const auto of_all_median =
      static_cast<float>(std::clamp(median - reference_, -kFarthestLog, kFarthestLog));
  const auto of_all_mean = static_cast<float>(mean / count);
  const auto of_all_cut = static_cast<float>(static_cast<double>(cut_off) / count);
  out.assign(kDeepFeatures * workers, 0.0F);
  last_.resize(workers);
  for (std::size_t w = 0; w < workers; ++w) {
    if (iteration[w].fate == Fate::kBusy) {
      continue;
    }
    out[w] = relative(iteration[w].seconds, reference_);
    out[workers + w] = iteration[w].fate == Fate::kLonger ? 1.0F : 0.0F;
    out[2 * workers + w] = of_all_median;
    out[3 * workers + w] = of_all_mean;
    out[4 * workers + w] = of_all_cut;
    Last& last = last_[w];
    if (!last.known) {
      last = {.log_seconds = std::log(iteration[w].seconds), .since = 0, .known = true};
    }
    out[5 * workers + w] = of(last.log_seconds, reference_);
    out[6 * workers + w] = std::log1p(static_cast<float>(last.since));
    ++last.since;
    if (iteration[w].fate == Fate::kArrived) {
      last = {.log_seconds = std::log(iteration[w].seconds), .since = 0, .known = true};
    }
  }
}

void DeepFeatures::correct(std::uint32_t worker, double seconds) {
  last_.at(worker) = {.log_seconds = std::log(seconds), .since = 0, .known = true};
}

float DeepFeatures::relative(double seconds, double reference) {
  return of(std::log(seconds), reference);
}

}  // namespace outpace::runtime_model

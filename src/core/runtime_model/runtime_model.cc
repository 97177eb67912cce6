#include "runtime_model/runtime_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/median.h"

namespace outpace::runtime_model {

const std::string& RuntimeModel::believed() const {
  static const std::string kNone;
  return kNone;
}

double log_likelihood(const Forecast& forecast,
                      std::span<const Observation> iteration,
                      double shift) {
  constexpr std::size_t kMost = 512;
  const std::size_t every = (iteration.size() + kMost - 1) / kMost;
  double sum = 0.0;
  for (std::size_t i = every / 2; i < iteration.size(); i += every) {
    const auto w = static_cast<std::uint32_t>(i);
    const double at = forecast.grid().position(iteration[w].seconds) - shift;
    if (iteration[w].fate == Fate::kArrived) {
      sum += forecast.log_density(w, at);
    } else if (iteration[w].fate == Fate::kLonger) {
      sum += forecast.log_survival(w, at);
    }
  }
  return static_cast<double>(every) * sum;
}

double median_seconds(std::span<const Observation> iteration) {
  std::vector<double> seen;
  for (const Observation& one : iteration) {
    if (one.fate != Fate::kBusy) {
      seen.push_back(one.seconds);
    }
  }
  CHECK(!seen.empty());
  return upper_median(seen);
}

TimeGrid grid_around(double median) {
  constexpr double kStep = 0.0125;  // In log seconds.
  constexpr double kBelow = 30.0;   // The median is this many times the first edge,
  constexpr double kAbove = 300.0;  // and the last edge this many times the median.
  return {median / kBelow, kStep, static_cast<std::uint32_t>(std::log(kBelow * kAbove) / kStep)};
}

}  // namespace outpace::runtime_model

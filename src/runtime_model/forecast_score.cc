#include "runtime_model/forecast_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

// Of the sorted draws of one quantity.
double crps_of(const std::vector<double>& draws, double came) {
  const auto n = static_cast<double>(draws.size());
  double from_it = 0.0;
  double from_each_other = 0.0;  // The sum over all pairs of |x - x'|.
  for (std::size_t k = 0; k < draws.size(); ++k) {
    from_it += std::abs(draws[k] - came);
    from_each_other += 2.0 * draws[k] * (2.0 * static_cast<double>(k) - n + 1.0);
  }
  return from_it / n - from_each_other / (2.0 * n * n);
}

}  // namespace

void ForecastScore::add(const Forecast& forecast, const std::vector<double>& came) {
  CHECK(came.size() == forecast.workers());
  workers_.resize(forecast.workers());
  std::iota(workers_.begin(), workers_.end(), 0U);
  draws_.draw(forecast, workers_, draws_for(forecast.workers()), seed_++);
  for (std::uint32_t c = 1; c <= forecast.workers(); ++c) {
    column_.clear();
    for (std::uint32_t k = 0; k < draws_.count(); ++k) {
      column_.push_back(draws_.sorted(k)[c - 1]);
    }
    std::sort(column_.begin(), column_.end());
    const double y = came[c - 1];
    const auto below =
        static_cast<double>(std::lower_bound(column_.begin(), column_.end(), y) - column_.begin());
    const double rank = below / static_cast<double>(column_.size());
    within50_ += rank >= 0.25 && rank < 0.75 ? 1.0 : 0.0;
    within90_ += rank >= 0.05 && rank < 0.95 ? 1.0 : 0.0;
    crps_ += crps_of(column_, y);
    count_ += 1.0;
  }
}

}  // namespace outpace::runtime_model

#include "runtime_model/forecast_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

// The share of an interval of ranks that is within `reach` of the middle.
double share_within(double reach, double from, double to) {
  const double within = std::min(to, 0.5 + reach) - std::max(from, 0.5 - reach);
  return std::max(within, 0.0) / (to - from);
}

}  // namespace

double crps_of(std::span<const double> sorted, double came) {
  const auto n = static_cast<double>(sorted.size());
  double from_it = 0.0;
  double from_each_other = 0.0;  // The sum over all pairs of |x - x'|.
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    from_it += std::abs(sorted[k] - came);
    from_each_other += 2.0 * sorted[k] * (2.0 * static_cast<double>(k) - n + 1.0);
  }
  return from_it / n - from_each_other / (2.0 * n * std::max(n - 1.0, 1.0));
}

void ForecastScore::Counts::add(double from, double to) {
  within50 += share_within(0.25, from, to);
  within90 += share_within(0.45, from, to);
  count += 1.0;
}

void ForecastScore::Counts::add(double rank) {
  const double apart = std::abs(rank - 0.5);
  within50 += apart <= 0.25 ? 1.0 : 0.0;
  within90 += apart <= 0.45 ? 1.0 : 0.0;
  count += 1.0;
}

void ForecastScore::add(const Forecast& forecast, std::span<const double> came) {
  CHECK(came.size() == forecast.workers());
  for (std::uint32_t w = 0; w < came.size(); ++w) {
    const double at = forecast.grid().position(came[w]);
    double rank = 0.0;
    for (const Forecast::Shift& shift : forecast.shifts()) {
      rank += shift.chance * forecast.cdf(w, at - shift.bins);
    }
    workers_.add(rank);
  }
  came_.assign(came.begin(), came.end());
  std::sort(came_.begin(), came_.end());
  numbers_.resize(came.size());
  std::iota(numbers_.begin(), numbers_.end(), 0U);
  draws_.draw(forecast, numbers_, draws_for(forecast.workers()), seed_++);
  add_orders();
}

void ForecastScore::add_orders() {
  for (std::uint32_t c = 1; c <= came_.size(); ++c) {
    column_.clear();
    for (std::uint32_t k = 0; k < draws_.count(); ++k) {
      column_.push_back(draws_.sorted(k)[c - 1]);
    }
    std::sort(column_.begin(), column_.end());
    const double y = came_[c - 1];
    const auto below =
        static_cast<double>(std::lower_bound(column_.begin(), column_.end(), y) - column_.begin());
    const auto n = static_cast<double>(column_.size());
    orders_.add(below / (n + 1.0), (below + 1.0) / (n + 1.0));
    crps_ += crps_of(column_, y);
  }
}

}  // namespace outpace::runtime_model

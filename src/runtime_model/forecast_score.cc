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

void ForecastScore::Counts::add(double rank) {
  within50 += rank >= 0.25 && rank < 0.75 ? 1.0 : 0.0;
  within90 += rank >= 0.05 && rank < 0.95 ? 1.0 : 0.0;
  count += 1.0;
}

void ForecastScore::add(const Forecast& forecast, std::span<const double> came, bool judged) {
  CHECK(came.size() == forecast.workers());
  for (std::uint32_t w = 0; judged && w < came.size(); ++w) {
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
  if (judged) {
    add_orders(orders_, crps_);
  }
  draws_.recalibrate(calibration_);
  if (judged) {
    add_orders(recalibrated_, recalibrated_crps_);
  }
}

void ForecastScore::end(double seconds) {
  const auto later = std::upper_bound(came_.begin(), came_.end(), seconds);
  calibration_.observe(draws_.middles(), std::span(came_.begin(), later), seconds);
}

void ForecastScore::add_orders(Counts& counts, double& crps) {
  for (std::uint32_t c = 1; c <= came_.size(); ++c) {
    column_.clear();
    for (std::uint32_t k = 0; k < draws_.count(); ++k) {
      column_.push_back(draws_.sorted(k)[c - 1]);
    }
    std::sort(column_.begin(), column_.end());
    const double y = came_[c - 1];
    const auto below =
        static_cast<double>(std::lower_bound(column_.begin(), column_.end(), y) - column_.begin());
    counts.add(below / static_cast<double>(column_.size()));
    crps += crps_of(column_, y);
  }
}

}  // namespace outpace::runtime_model

#include "runtime_model/stopping.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace outpace::runtime_model {
namespace {

constexpr double kTick = 0.01;  // Of the time in which half of the workers are expected.
constexpr double kLongest = 8.0;
constexpr double kNegligible = 1e-4;  // A worker of whom less is left is as good as never there.

}  // namespace

void Stopping::begin(const Forecast& forecast,
                     std::span<const std::uint32_t> workers,
                     double rate) {
  forecast_ = &forecast;
  rate_ = rate;
  const TimeGrid& grid = forecast.grid();
  if (edges_.size() != grid.bins() + 1U || edges_.front() != grid.edge(0)) {
    edges_.resize(grid.bins() + 1U);
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      edges_[i] = grid.edge(static_cast<double>(i));
    }
  }
  medians_.clear();
  for (const std::uint32_t w : workers) {
    medians_.push_back(forecast.quantile(w, 0.5));
  }
  const auto middle = medians_.begin() + static_cast<std::ptrdiff_t>(medians_.size() / 2);
  std::nth_element(medians_.begin(), middle, medians_.end());
  tick_ = kTick * *middle;
}

Stopping::Outlook Stopping::look(double seconds, std::span<const std::uint32_t> out) {
  const TimeGrid& grid = forecast_->grid();
  const double now = grid.position(seconds);
  const double soon = grid.position(seconds + tick_);
  double arriving = 0.0;
  for (const std::uint32_t w : out) {
    const double by_now = forecast_->cdf(w, now);
    const double left = std::max(1.0 - by_now, kNegligible);
    arriving += (forecast_->cdf(w, soon) - by_now) / left;
  }
  if (arriving > rate_ * tick_) {
    return {.stop = false, .again = seconds + tick_};
  }
  return {.stop = best_plan(seconds, out, 0.0).gain <= 0.0, .again = seconds + tick_};
}

Stopping::Plan Stopping::best_plan(double seconds,
                                   std::span<const std::uint32_t> out,
                                   double at_least) {
  const TimeGrid& grid = forecast_->grid();
  const double now = grid.position(seconds);
  const auto first = static_cast<std::size_t>(now) + 1;
  // Waiting so long costs many times what all could bring, unless all but surely come before.
  const double longest = seconds + kLongest * static_cast<double>(out.size()) / rate_;
  const auto last = std::min(static_cast<std::size_t>(grid.position(longest)) + 2, edges_.size());
  arrivals_.assign(edges_.size(), 0.0F);
  all_.assign(edges_.size(), 1.0F);
  for (const std::uint32_t w : out) {
    const auto by_now = static_cast<float>(forecast_->cdf(w, now));
    const float scale = 1.0F / std::max(1.0F - by_now, static_cast<float>(kNegligible));
    const std::span<const float> row = forecast_->row(w);
    for (std::size_t i = first; i < last; ++i) {
      const float arrived = (row[i] - by_now) * scale;
      arrivals_[i] += arrived;
      all_[i] *= arrived;
    }
  }
  Plan best{.gain = -std::numeric_limits<double>::infinity(), .arrivals = 0.0, .until = seconds};
  double waiting = 0.0;
  double before = seconds;
  float all_before = 0.0F;
  for (std::size_t i = first; i < last; ++i) {
    waiting += (edges_[i] - before) * (1.0 - 0.5 * (all_before + all_[i]));
    before = edges_[i];
    all_before = all_[i];
    const double gain = arrivals_[i] - rate_ * waiting;
    if (gain > best.gain && arrivals_[i] >= at_least) {
      best = {.gain = gain, .arrivals = arrivals_[i], .until = edges_[i]};
    }
  }
  return best;
}

}  // namespace outpace::runtime_model

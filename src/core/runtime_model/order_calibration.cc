#include "runtime_model/order_calibration.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr std::size_t kPastMost = 500;  // Iterations.
constexpr std::size_t kPastLeast = 40;  // With fewer, draws stay as they are.
constexpr double kLeastSpread = 2e-3;   // In log seconds.

double quantile_of(std::span<const double> sorted, double probability) {
  const double at = probability * static_cast<double>(sorted.size()) - 0.5;
  const double inside = std::clamp(at, 0.0, static_cast<double>(sorted.size() - 1));
  const auto below = static_cast<std::size_t>(inside);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (inside - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// How far log seconds are from the middle: in spreads, and beyond a few of these in log seconds. A
// machine that turns slow is a surprise of the same size whether the draws agreed or not.
constexpr double kSpreads = 3.0;

double residual_of(double log_seconds, const OrderCalibration::Middle& middle) {
  const double apart = log_seconds - middle.median;
  const double near = std::clamp(apart, -kSpreads * middle.spread, kSpreads * middle.spread);
  return near / middle.spread + (apart - near);
}

double log_seconds_of(double residual, const OrderCalibration::Middle& middle) {
  const double near = std::clamp(residual, -kSpreads, kSpreads);
  return middle.median + near * middle.spread + (residual - near);
}

}  // namespace

OrderCalibration::Middle OrderCalibration::middle_of(std::span<const float> draws) {
  const auto at = [&](std::size_t quarters) {
    return std::log(
        static_cast<double>(draws[std::min(quarters * draws.size() / 4, draws.size() - 1)]));
  };
  return {.median = at(2), .spread = std::max(0.5 * (at(3) - at(1)), kLeastSpread)};
}

void OrderCalibration::observe(std::span<const Middle> middles,
                               std::span<const double> came,
                               double cut) {
  CHECK(came.size() <= middles.size());
  past_.resize(middles.size());
  for (std::size_t i = 0; i < middles.size(); ++i) {
    const double seconds = i < came.size() ? came[i] : cut;
    const double residual = residual_of(std::log(seconds), middles[i]);
    add(i < came.size() ? residual : longer_than(past_[i], residual), past_[i]);
  }
}

double OrderCalibration::longer_than(const Past& past, double least) {
  const auto from = std::upper_bound(past.sorted.begin(), past.sorted.end(), least);
  const auto longer = static_cast<std::uint64_t>(past.sorted.end() - from);
  return longer == 0 ? least : from[static_cast<std::ptrdiff_t>(rng_.below(longer))];
}

void OrderCalibration::add(double residual, Past& past) {
  if (past.in_time.size() == kPastMost) {
    past.sorted.erase(
        std::lower_bound(past.sorted.begin(), past.sorted.end(), past.in_time.front()));
    past.in_time.pop_front();
  }
  past.in_time.push_back(residual);
  past.sorted.insert(std::upper_bound(past.sorted.begin(), past.sorted.end(), residual), residual);
}

bool OrderCalibration::is_known() const {
  return !past_.empty() && past_.front().sorted.size() >= kPastLeast;
}

void OrderCalibration::apply(std::uint32_t c, const Middle& middle, std::span<float> draws) const {
  if (c > past_.size() || !is_known()) {
    return;
  }
  for (std::size_t k = 0; k < draws.size(); ++k) {
    const double probability = (static_cast<double>(k) + 0.5) / static_cast<double>(draws.size());
    draws[k] = static_cast<float>(
        std::exp(log_seconds_of(quantile_of(past_[c - 1].sorted, probability), middle)));
  }
}

}  // namespace outpace::runtime_model

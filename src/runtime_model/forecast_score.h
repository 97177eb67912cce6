// How good the forecasts of the order statistics were, compared with the arrivals.

#pragma once

#include <cstdint>
#include <vector>

#include "runtime_model/draws.h"

namespace outpace::runtime_model {

class ForecastScore {
 public:
  // Scores one iteration; `came` has the seconds of all workers' arrivals, the shortest first.
  void add(const Forecast& forecast, const std::vector<double>& came);

  // The share of order statistics inside the central 50 and 90 % intervals of their forecasts; NaN
  // without forecasts.
  [[nodiscard]] double coverage50() const { return within50_ / count_; }
  [[nodiscard]] double coverage90() const { return within90_ / count_; }
  // Mean continuous ranked probability score, in seconds: E|X - y| - E|X - X'| / 2, smallest if the
  // forecast is the distribution of y (Gneiting & Raftery, "Strictly Proper Scoring Rules,
  // Prediction, and Estimation", 2007, equation 21).
  [[nodiscard]] double crps() const { return crps_ / count_; }

 private:
  Draws draws_;
  std::vector<std::uint32_t> workers_;
  std::vector<double> column_;
  double within50_ = 0.0;
  double within90_ = 0.0;
  double crps_ = 0.0;
  double count_ = 0.0;
  std::uint64_t seed_ = 0;
};

}  // namespace outpace::runtime_model

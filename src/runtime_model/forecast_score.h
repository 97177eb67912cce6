// How good forecasts of the order statistics were, beside what came.

#pragma once

#include <cstdint>
#include <vector>

#include "runtime_model/draws.h"

namespace outpace::runtime_model {

class ForecastScore {
 public:
  // One iteration: `came` are the seconds of all workers' arrivals, the shortest first.
  void add(const Forecast& forecast, const std::vector<double>& came);

  // The share of order statistics within the central 50 and 90 % of their forecasts; NaN if there
  // were none.
  [[nodiscard]] double coverage50() const { return within50_ / count_; }
  [[nodiscard]] double coverage90() const { return within90_ / count_; }
  // The mean continuous ranked probability score, in seconds: E|X - y| - E|X - X'| / 2, which is
  // least if the forecast is the distribution that y is from (Gneiting & Raftery, "Strictly Proper
  // Scoring Rules, Prediction, and Estimation", 2007, equation 21).
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

// How good the forecasts were, compared with the arrivals: of order statistics, by which `before`
// and `deadline` decide, and of each worker, by which `during` decides.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/draws.h"

namespace outpace::runtime_model {

// How often something was inside the central 50 and 90 % intervals of its forecasts.
struct Coverage {
  double in50 = 0.0;
  double in90 = 0.0;
};

// Whether a sample of n numbers has independent draws of a distribution, or its quantiles at
// (k + 1/2) / n. The draws of a forecast, stratified by worker, are nearly the former.
enum class SampleOf : std::uint8_t { kDraws, kQuantiles };

// Continuous ranked probability score of a sorted sample: mean|x - came| - mean|x - x'| / 2, the
// second mean over pairs of different draws, so that few draws score no worse than many (Ferro,
// "Fair scores for ensemble forecasts", 2014). REQUIRES: a sample that is not empty.
[[nodiscard]] double crps_of(std::span<const double> sorted, double came, SampleOf kind);

class ForecastScore {
 public:
  // Takes in an iteration's forecast, and scores it if it is `judged`. `came` has the seconds of
  // each worker's arrival.
  void add(const Forecast& forecast, std::span<const double> came, bool judged);
  // The iteration of the last add() has ended after `seconds`: its arrivals by then recalibrate the
  // intervals of later ones, once 40 have ended.
  void end(double seconds);

  // The share inside the central 50 and 90 % intervals of their forecasts; NaN without forecasts.
  // First, that of workers' runtimes:
  [[nodiscard]] Coverage workers() const { return workers_.shares(); }
  // That of order statistics, in draws of the forecast, and in ones recalibrated
  // (order_calibration.h).
  [[nodiscard]] Coverage orders() const { return orders_.shares(); }
  [[nodiscard]] Coverage recalibrated() const { return recalibrated_.shares(); }
  // Mean continuous ranked probability score of order statistics, in seconds: E|X - y| - E|X - X'|
  // / 2, smallest if the forecast is the distribution of y (Gneiting & Raftery, "Strictly Proper
  // Scoring Rules, Prediction, and Estimation", 2007, equation 21).
  [[nodiscard]] double crps() const { return crps_ / orders_.count; }
  [[nodiscard]] double recalibrated_crps() const { return recalibrated_crps_ / orders_.count; }

 private:
  struct Counts {
    double within50 = 0.0;
    double within90 = 0.0;
    double count = 0.0;

    // `rank`: P(a shorter one), by the forecast. With n draws, the arrival's rank among them is one
    // of n + 1 equally likely ones, an interval; it counts by its share of the central interval, so
    // that coverage does not depend on n.
    void add(double rank);
    void add(double from, double to);
    [[nodiscard]] Coverage shares() const {
      return {.in50 = within50 / count, .in90 = within90 / count};
    }
  };

  void add_orders(SampleOf kind, Counts& counts, double& crps);

  Counts workers_;
  Counts orders_;
  Counts recalibrated_;
  double crps_ = 0.0;
  double recalibrated_crps_ = 0.0;
  OrderCalibration calibration_;
  Draws draws_;               // The last iteration's, recalibrated.
  std::vector<double> came_;  // In it, the shortest first.
  std::uint64_t seed_ = 0;
  std::vector<std::uint32_t> numbers_;  // Scratch space.
  std::vector<double> column_;
};

}  // namespace outpace::runtime_model

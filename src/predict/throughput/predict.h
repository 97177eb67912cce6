// Predicts a configuration from a calibrated profile, with an interval and with warnings where it
// extrapolates.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "throughput/profile.h"

namespace outpace::throughput {

struct IterationPrediction {
  std::optional<double> seconds;  // For an iteration; nothing if refused.
  double low = 0.0;               // The interval for one measurement; about 9 in 10 lie inside.
  std::optional<double> high;     // Nothing if no row bounds it from above.
  bool sync_bound = false;        // Synchronising takes longer than computing.
  // Where it extrapolates, one clause each; identical for rows that extrapolate in the same way.
  std::vector<std::string> warnings;
  std::string refusal;  // Why there is no prediction; otherwise empty.

  friend bool operator==(const IterationPrediction&, const IterationPrediction&) = default;
};

// Predicts with the group of this policy and topology, or with the only group where the
// configuration names none. The interval combines independent uncertainties, whose squares add: the
// group's spread, the distance to the other laws of growth that the calibration allows, and 10 %
// per doubling beyond the measured numbers of workers, batch sizes and workers per node. Refuses a
// policy or topology that the calibration has not seen, and a batch more than 10 times outside the
// measured range.
[[nodiscard]] IterationPrediction predict(const CalibratedProfile& profile,
                                          const Configuration& configuration);

// Errors of the predictions for which there is a measurement.
struct Errors {
  std::size_t measured = 0;  // Rows; if 0, so is everything else.
  double median = 0.0;       // The median of |predicted / measured - 1|.
  double ninety = 0.0;       // Its 90th percentile.
  double worst = 0.0;
  double within = 0.0;  // Share of the measurements inside their interval.

  friend bool operator==(const Errors&, const Errors&) = default;
};

// REQUIRES: as many predictions as rows.
[[nodiscard]] Errors errors_of(std::span<const Row> rows,
                               std::span<const IterationPrediction> predictions);

}  // namespace outpace::throughput

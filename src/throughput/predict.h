// What a calibrated profile says of a configuration, how sure it is, and where it only guesses.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "throughput/profile.h"

namespace outpace::throughput {

struct IterationPrediction {
  std::optional<double> seconds;  // Of an iteration; nothing if it was refused.
  double low = 0.0;               // Of the interval for one measurement; about 9 of 10 are within.
  std::optional<double> high;     // Nothing: no row tells how much longer it may be.
  bool sync_bound = false;        // Synchronising takes longer than computing.
  // What it goes beyond, a clause each: the same for all rows that go beyond the same.
  std::vector<std::string> warnings;
  std::string refusal;  // Why there is none; empty otherwise.

  friend bool operator==(const IterationPrediction&, const IterationPrediction&) = default;
};

// Predicts with the group of this policy and topology; where the configuration names none, with the
// only group. The interval is made of independent doubts, whose squares add: the group's spread,
// how far the other laws of growth that the calibration allows are from this one, and 10 % for each
// doubling beyond the workers, the batches and the workers a node that were measured. Refuses a
// policy or topology that the calibration has not seen, and a batch 10 times beyond those it has.
[[nodiscard]] IterationPrediction predict(const CalibratedProfile& profile,
                                          const Configuration& configuration);

// Of the predictions that have a measurement beside them.
struct Errors {
  std::size_t measured = 0;  // Rows; all else is 0 if this is.
  double median = 0.0;       // Of |predicted / measured - 1|.
  double ninety = 0.0;       // Its 90th percentile.
  double worst = 0.0;
  double within = 0.0;  // Share of the measurements within their interval.

  friend bool operator==(const Errors&, const Errors&) = default;
};

// REQUIRES: as many predictions as rows.
[[nodiscard]] Errors errors_of(std::span<const Row> rows,
                               std::span<const IterationPrediction> predictions);

}  // namespace outpace::throughput

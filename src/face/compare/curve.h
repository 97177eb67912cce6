// Accuracy over time for several runs of one kind: their mean and range.

#pragma once

#include <vector>

#include "compare/run_record.h"

namespace outpace::compare {

struct CurvePoint {
  double seconds;
  double mean;  // The mean of the runs' accuracies, interpolated linearly between evaluations.
  double least;
  double greatest;

  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

// One point at each time at which one of the runs was evaluated, from the time when all have been
// to the last. A run that has ended counts with its last accuracy. Runs without evaluations are
// ignored. REQUIRES: each run is in the order of time.
[[nodiscard]] std::vector<CurvePoint> curve_of(const std::vector<std::vector<AccuracyAt>>& runs);

}  // namespace outpace::compare

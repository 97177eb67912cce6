// Accuracy against time of several runs of one kind: their mean, and between what it lies.

#pragma once

#include <vector>

#include "compare/run_record.h"

namespace outpace::compare {

struct CurvePoint {
  double seconds;
  double mean;  // Of the runs' accuracies, linear between evaluations.
  double least;
  double greatest;

  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

// A point at each time that one of the runs was evaluated, from when all have been to the last. A
// run that has ended counts with its last accuracy. Runs without any are left out.
// REQUIRES: each in the order of time.
[[nodiscard]] std::vector<CurvePoint> curve_of(const std::vector<std::vector<AccuracyAt>>& runs);

}  // namespace outpace::compare

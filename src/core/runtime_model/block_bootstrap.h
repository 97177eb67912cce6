// How sure a comparison of two rules on one trace is.
//
// Iterations depend on their neighbours: a machine is slow for a while. Hence blocks of successive
// iterations are drawn with replacement (Kuensch, "The Jackknife and the Bootstrap for General
// Stationary Observations", 1989), the same ones for both rules, whose common luck cancels.

#pragma once

#include <span>

#include "runtime_model/trial.h"

namespace outpace::runtime_model {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// The central 95 % interval of Omega(rows) / Omega(base), over 2,000 resamples of blocks of 25
// iterations, or an eighth of the trace if that is less. REQUIRES: as many rows as in base, one at
// least.
[[nodiscard]] Interval ratio_interval(std::span<const TrialRow> rows,
                                      std::span<const TrialRow> base);

}  // namespace outpace::runtime_model

// Fits a calibrated profile to measured rows.

#pragma once

#include <span>

#include "throughput/configuration.h"
#include "throughput/profile.h"

namespace outpace::throughput {

// Fits one group per policy and topology of the rows, in the order of their first rows.
//
// Each group is fitted with all three laws of growth (fit_cost.h). The logarithmic one is the
// default, because it lies between the others: measurements of a few workers cannot tell the three
// apart where nobody measured. The linear law is used only if it predicts the held-out largest
// numbers of workers much better, by 40 % of the error and by 2 % of the measured time. The
// saturating law is never used, because a logarithm fitted to saturating data barely grows either.
// The laws that are not used widen the interval, unless they fit the rows badly. So does the same
// law with g = 10, if the rows cannot determine g.
//
// The spread is the 90th percentile of the held-out errors, or of the fit's own errors if that is
// larger. It includes a prior of 20 % with the weight of three rows.
//
// REQUIRES: rows is not empty, and all have iteration_seconds.
[[nodiscard]] CalibratedProfile calibrate(std::span<const Row> rows);

}  // namespace outpace::throughput

// A profile from measured rows.

#pragma once

#include <span>

#include "throughput/configuration.h"
#include "throughput/profile.h"

namespace outpace::throughput {

// A group for each policy and topology among the rows, in the order of their first rows. In each,
// all three laws of growth are fitted (fit_cost.h), and the logarithmic one is taken, which lies
// between the others: a few workers cannot tell them apart, as they differ where nobody measured.
// The linear one is taken only if it predicts the largest numbers of workers, left out, much better
// (by 40 %, and by 2 % of what was measured). The saturating one never is: a logarithm fitted to
// what saturates hardly grows either. The others stay for the interval, unless they fit the rows
// themselves badly; and so does the same law with g = 10 if the rows cannot tell g.
//
// The spread is the 90th percentile of what was wrong when the largest were left out, or of the fit
// if that is more, with a prior of 20 % that counts as three rows.
//
// REQUIRES: rows is not empty, and all have iteration_seconds.
[[nodiscard]] CalibratedProfile calibrate(std::span<const Row> rows);

}  // namespace outpace::throughput

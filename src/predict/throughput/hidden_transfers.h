// The heuristic by which the coarse model knows that transfers hide behind the passes of their own
// iteration.

#pragma once

#include <vector>

#include "sim/overlap.h"
#include "throughput/computing.h"

namespace outpace::throughput {

struct HiddenTransfers {
  struct Point {
    double bytes;      // A share of the payload.
    double computing;  // A share of an iteration's computing.
  };
  // By piece: the bytes with it, and the computing before the first layer that needs it.
  std::vector<Point> weights;
  // By slice: the bytes before it, and the computing behind its layer's backward pass.
  std::vector<Point> gradient;
};

[[nodiscard]] HiddenTransfers hidden_transfers(const sim::Overlap& overlap);

// How much shorter an iteration is than one after the other: `down` seconds of weights, `computing`
// seconds and `up` seconds of gradient. At most `computing`. An iteration ends at the latest of the
// moments that its pieces, or its slices, allow.
[[nodiscard]] double hidden_seconds(const HiddenTransfers& transfers,
                                    double computing,
                                    double down,
                                    double up);

// Takes the hidden seconds off all computing times.
[[nodiscard]] Computing without_hidden(const HiddenTransfers& transfers,
                                       Computing computing,
                                       double down,
                                       double up);

}  // namespace outpace::throughput

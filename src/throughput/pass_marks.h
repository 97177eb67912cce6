// From the times at which a pass through a network was between layers, how long each layer took.

#pragma once

#include <span>
#include <vector>

#include "throughput/measured_profile.h"

namespace outpace::throughput {

// One gradient: seconds since any one moment, none before the one that it follows.
struct PassMarks {
  double begin;
  // As worker::GradientSource asks whether it was cancelled: before each layer forward, in order,
  // and before each layer backward, from the last to the first; perhaps once more at the begin.
  std::vector<double> between;
  double end;
};

// The median over all passes of each layer's forward and backward seconds. The loss counts as the
// last layer's forward pass, reading the mini-batch as the first one's. Empty if the passes have
// different numbers of marks, or an odd one: the layers are then not known.
[[nodiscard]] std::vector<MeasuredLayer> layers_of(std::span<const PassMarks> passes);

// Of all passes but the last: its computing, and the rest until the next one begins.
[[nodiscard]] std::vector<MeasuredIteration> iterations_of(std::span<const PassMarks> passes);

}  // namespace outpace::throughput

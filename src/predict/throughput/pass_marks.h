// Derives the time of each layer from time stamps taken between layers.

#pragma once

#include <span>
#include <vector>

#include "throughput/measured_profile.h"

namespace outpace::throughput {

// One gradient. All times are seconds since any one moment and never decrease.
struct PassMarks {
  double begin;
  // The moments at which worker::GradientSource asked whether it was cancelled: before each layer's
  // forward pass, in order, and before each layer's backward pass, from the last to the first.
  std::vector<double> between;
  double end;
};

// The median over all passes of each layer's forward and backward seconds. The loss counts towards
// the last layer's forward pass, and reading the mini-batch towards the first layer's. Empty if the
// layers cannot be told: the passes have different numbers of marks, or an odd number.
[[nodiscard]] std::vector<MeasuredLayer> layers_of(std::span<const PassMarks> passes);

// All passes but the last: its computing, and the rest until the next one begins.
[[nodiscard]] std::vector<MeasuredIteration> iterations_of(std::span<const PassMarks> passes);

}  // namespace outpace::throughput

// The network's layers and the size of its gradient, from the backward pass of each step.
//
// A layer is an outermost operation of the forward pass that has nodes in the backward pass. Kineto
// records a number with both that joins them. Operations after the last one with parameters are the
// loss and count towards that layer. The legacy dialect records no numbers. With an accelerator,
// the processor's times are not those of the layers. In both cases the layers are unknown.
//
// The gradient's size is the total of what AccumulateGrad received, if shapes were recorded.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "throughput/pass_marks.h"
#include "throughput/trace_steps.h"

namespace outpace::throughput {

struct TracePass {
  std::vector<PassMarks> marks;        // One per step, or none.
  std::vector<double> gradient_bytes;  // By parameter, the same in all steps; empty if unknown.
  std::string gradient_unknown;        // Why it is unknown, in words.
};

[[nodiscard]] TracePass pass_of(const PytorchTrace& trace, const TraceSteps& steps);

}  // namespace outpace::throughput

// The network's layers and the size of its gradient, from the backward pass of each step.
//
// A layer is an outermost operation of the forward pass that has nodes in the backward pass. Kineto
// records a number with both that joins them. Operations after the last one with parameters are the
// loss and count towards that layer. The legacy dialect records no numbers: its layers are unknown.
//
// With an accelerator, the processor runs ahead of it and only starts kernels. A kernel has the
// correlation id of the call that started it. It belongs to the layer, and to the direction, in
// which the processor made that call. A layer then lasts from its first kernel to that of the next
// layer. Without correlation ids the layers are unknown.
//
// The gradient's size is the total of what AccumulateGrad received, if shapes were recorded. A
// parameter belongs to the layer in whose backward pass its gradient was received.

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
  // The same by layer, in the order of the forward pass; empty if layers or sizes are unknown.
  std::vector<std::vector<double>> layer_bytes;
  std::string gradient_unknown;  // Why it is unknown, in words.
};

[[nodiscard]] TracePass pass_of(const PytorchTrace& trace, const TraceSteps& steps);

}  // namespace outpace::throughput

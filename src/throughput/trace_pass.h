// What one backward pass a step tells of the network: its layers, and how large its gradient is.
//
// A layer is an operation of the forward pass, outermost on its thread, that has nodes in the
// backward pass: Kineto records with both the number that joins them. What follows the last
// operation with parameters is the loss, and counts as that one's. The legacy dialect records no
// numbers, and with an accelerator the processor's times are not the layers'.
//
// The gradient's size is that of all that AccumulateGrad was given, if shapes were recorded.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "throughput/pass_marks.h"
#include "throughput/trace_steps.h"

namespace outpace::throughput {

struct TracePass {
  std::vector<PassMarks> marks;        // Of each step, or of none.
  std::vector<double> gradient_bytes;  // Of each parameter, alike in all steps; empty if unknown.
  std::string gradient_unknown;        // Why, in words.
};

[[nodiscard]] TracePass pass_of(const PytorchTrace& trace, const TraceSteps& steps);

}  // namespace outpace::throughput

// The steps of a training loop in a trace, and where the time of each went.
//
// A step is a ProfilerStep#N, which ends at prof.step(). Without any, a step ends with the last
// Optimizer.step before the next backward pass and begins where the previous one ended. Steps
// without a backward pass (an evaluation, the rest after the last prof.step()) do not count.
// Neither does the first step, which allocates memory and loads code.
//
// A worker computes whenever it does not communicate: Python between two operations and reading the
// mini-batch count as well. A step's computing is therefore its length, less the optimizer, which
// is listed separately, and less the communication that was not overlapped:
//
//   without an accelerator:  collectives, less the operations that ran meanwhile
//   with one:                NCCL's kernels, less the other kernels that ran meanwhile; there the
//                            processor runs ahead, and its work overlaps nothing

#pragma once

#include <string>
#include <vector>

#include "throughput/intervals.h"
#include "throughput/pytorch_trace.h"

namespace outpace::throughput {

struct TraceStep {
  Interval when;
  // Seconds within the step. With an accelerator, forward and backward are the processor's times
  // only.
  double forward = 0.0;        // Operations outside the backward pass and the optimizer.
  double backward = 0.0;       // Nodes of the backward pass.
  double optimizer = 0.0;      // The accelerator's, if there is one and it was recorded.
  double communication = 0.0;  // Not overlapped.
  double device_busy = 0.0;    // Kernels other than collectives.

  [[nodiscard]] double length() const { return when.end - when.begin; }
  [[nodiscard]] double computing() const;
  // The rest: Python, data, and the profiler itself.
  [[nodiscard]] double other() const;
};

enum class StepSource : std::uint8_t { kProfilerStep, kOptimizer };

struct TraceSteps {
  StepSource source;
  bool has_device = false;  // An accelerator's kernels were recorded.
  std::size_t without_backward = 0;
  std::vector<TraceStep> steps;  // Without the first, a warm-up.
};

// One flag per track: whether it trains, that is, has a step, an optimizer or a node of the
// backward pass. Other threads, such as data loaders or a collective's, run beside it.
[[nodiscard]] std::vector<bool> training_tracks(const PytorchTrace& trace);

// Throws a usage error that begins with `name` if the trace has no backward pass, nothing that
// marks steps, or fewer than four steps after the first.
[[nodiscard]] TraceSteps steps_of(const PytorchTrace& trace, const std::string& name);

}  // namespace outpace::throughput

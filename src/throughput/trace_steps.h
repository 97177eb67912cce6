// The steps of a training loop in a trace, and where the time of each went.
//
// A step is a ProfilerStep#N, which prof.step() ends. Without any, it ends with the last
// Optimizer.step before the next backward pass begins, and begins where the one before ended.
// Steps without a backward pass (an evaluation, the rest after the last prof.step()) do not count,
// nor does the first one, which finds no memory and no code in place.
//
// A worker computes all the time that it does not communicate: Python between two operations, and
// reading the mini-batch, are its own time as the operations are. So a step's computing is its
// length without its optimizer, which is told apart, and without the communication that nothing
// hid:
//
//   without an accelerator:  collectives, less the operations that ran meanwhile
//   with one:                NCCL's kernels, less the other kernels that ran meanwhile; there the
//                            processor runs ahead, and what it does hides nothing

#pragma once

#include <string>
#include <vector>

#include "throughput/intervals.h"
#include "throughput/pytorch_trace.h"

namespace outpace::throughput {

struct TraceStep {
  Interval when;
  // Seconds of it. With an accelerator, forward and backward are the processor's part alone.
  double forward = 0.0;        // Operations outside the backward pass and the optimizer.
  double backward = 0.0;       // Nodes of the backward pass.
  double optimizer = 0.0;      // Of the accelerator, if there is one and that was recorded.
  double communication = 0.0;  // Hidden by nothing.
  double device_busy = 0.0;    // Kernels, without collectives.

  [[nodiscard]] double length() const { return when.end - when.begin; }
  [[nodiscard]] double computing() const;
  // What is left: Python, data, and the profiler itself.
  [[nodiscard]] double other() const;
};

enum class StepSource : std::uint8_t { kProfilerStep, kOptimizer };

struct TraceSteps {
  StepSource source;
  bool has_device = false;  // An accelerator's kernels were recorded.
  std::size_t without_backward = 0;
  std::vector<TraceStep> steps;  // Without the first, which was warming up.
};

// The threads that train: those of a step, an optimizer or a node of the backward pass. Others
// (of data loaders, of a collective) compute beside them. One flag a track.
[[nodiscard]] std::vector<bool> training_tracks(const PytorchTrace& trace);

// Throws a usage error that begins with `name` if there is no backward pass, nothing that tells
// steps, or fewer than four of them besides the first.
[[nodiscard]] TraceSteps steps_of(const PytorchTrace& trace, const std::string& name);

}  // namespace outpace::throughput

// What an event of a trace of PyTorch's profiler is, by its name and its category.
//
// Kineto writes categories ("cpu_op", "kernel"; before 1.12 "Operator", "Kernel"), the legacy
// profiler none: there a name must do. Most of a trace has no role here: Python's functions, calls
// of the driver, memory, the nodes inside autograd::engine::evaluate_function, which has their
// time.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace outpace::throughput {

enum class TraceRole : std::uint8_t {
  kStep,           // ProfilerStep#N: from one prof.step() to the next.
  kOptimizer,      // Optimizer.step#SGD.step
  kBackward,       // autograd::engine::evaluate_function: one node of the backward pass.
  kGradient,       // AccumulateGrad within it: one parameter's gradient is there.
  kOperation,      // Any other operation of the processor, such as aten::conv2d.
  kCommunication,  // A collective: c10d::, gloo:, NCCL's kernels.
  kKernel,         // What an accelerator computes or copies.
};

struct TraceLabel {
  TraceRole role;
  bool on_device;  // On an accelerator's own timeline.

  bool operator==(const TraceLabel&) const = default;
};

// What an event says of itself; empty where it says nothing.
struct TraceName {
  std::string_view name;
  std::string_view category;
  std::string_view process;
};

// Nothing: of no interest.
[[nodiscard]] std::optional<TraceLabel> label_of(const TraceName& event);

struct TraceEvent {
  TraceLabel label;
  std::uint32_t track;    // Index into PytorchTrace::tracks.
  double begin;           // Seconds since some moment that all events of a trace share.
  double end;             // Not before the begin.
  std::int64_t sequence;  // What joins an operation and its node; -1 if not recorded.
  double gradient_bytes;  // Of a kGradient whose shape was recorded; else -1.
};

}  // namespace outpace::throughput

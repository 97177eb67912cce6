// Classifies an event of PyTorch's profiler by its name and category.
//
// Kineto writes categories ("cpu_op", "kernel"; before 1.12 "Operator", "Kernel"). The legacy
// profiler writes none, so there the name decides. Most events have no role here: Python functions,
// memory, driver calls that start nothing, and the nodes inside
// autograd::engine::evaluate_function, which covers their time.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace outpace::throughput {

enum class TraceRole : std::uint8_t {
  kStep,           // ProfilerStep#N: from one prof.step() to the next.
  kOptimizer,      // Optimizer.step#SGD.step
  kBackward,       // autograd::engine::evaluate_function: one node of the backward pass.
  kGradient,       // AccumulateGrad within it: one parameter's gradient is ready.
  kOperation,      // Any other operation on the processor, such as aten::conv2d.
  kCommunication,  // A collective: c10d::, gloo:, NCCL's kernels.
  kKernel,         // A computation or copy on an accelerator.
  kLaunch,         // A call that starts one, such as cudaLaunchKernel.
};

struct TraceLabel {
  TraceRole role;
  bool on_device;  // On an accelerator's own timeline.

  bool operator==(const TraceLabel&) const = default;
};

// What an event says about itself; empty if it does not say.
struct TraceName {
  std::string_view name;
  std::string_view category;
  std::string_view process;
};

// Nothing: no role.
[[nodiscard]] std::optional<TraceLabel> label_of(const TraceName& event);

struct TraceEvent {
  TraceLabel label;
  std::uint32_t track;  // Index into PytorchTrace::tracks.
  double begin;         // Seconds since a moment common to all events of the trace.
  double end;           // Not before `begin`.
  // Joins an operation and its node, or a launch and its kernel; -1 if not recorded.
  std::int64_t sequence;
  double gradient_bytes;  // For a kGradient with a recorded shape; else -1.
};

}  // namespace outpace::throughput

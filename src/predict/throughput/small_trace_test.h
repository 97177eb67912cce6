// Traces as PyTorch's profiler writes them, small enough to know by heart.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "throughput/pytorch_trace.h"

namespace outpace::throughput {

inline constexpr double kMicro = 1e-6;

inline PytorchTrace read_trace(const std::string& text) {
  bool given = false;
  return read_pytorch_trace(
      [&]() -> std::string_view {
        return std::exchange(given, true) ? std::string_view{} : std::string_view(text);
      },
      "t.json");
}

// Events, in microseconds.
class TraceWriter {
 public:
  explicit TraceWriter(TraceDialect dialect) : dialect_(dialect) {}

  struct Event {
    std::string name;
    double begin;
    double duration;
    std::string category = "cpu_op";
    std::string thread = "1";
    std::string args = "";  // Members of the object.
  };
  void add(const Event& event) {
    const bool kineto = dialect_ == TraceDialect::kKineto;
    const std::string category =
        kineto ? fmt::format(R"("cat": "{}", )", event.category) : std::string();
    events_.push_back(fmt::format(
        R"({{"ph": "X", {}"name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        category,
        event.name,
        kineto ? "4711" : "\"CPU functions\"",
        event.thread,
        event.begin,
        event.duration,
        event.args));
  }
  // A node of the backward pass.
  void add_node(const std::string& node, double begin, double duration, int sequence) {
    add({.name = "autograd::engine::evaluate_function: " + node,
         .begin = begin,
         .duration = duration,
         .args = fmt::format(R"("Sequence number": {})", sequence)});
  }
  // A parameter's gradient, of a node that takes so long.
  void add_gradient(double begin, double duration, const std::string& shape) {
    const std::string args =
        fmt::format(R"("Sequence number": 18446744073709551615, "Input Dims": [[{}]], )"
                    R"("Input type": ["float"])",
                    shape);
    add({.name = "autograd::engine::evaluate_function: AccumulateGrad",
         .begin = begin,
         .duration = duration,
         .args = R"("Sequence number": 18446744073709551615)"});
    add({.name = "autograd::AccumulateGrad",
         .begin = begin,
         .duration = duration,
         .args = shape.empty() ? "" : args});
  }
  [[nodiscard]] std::string text() const {
    const std::string list = fmt::format("[{}]", fmt::join(events_, ",\n"));
    return dialect_ == TraceDialect::kLegacy
               ? list
               : fmt::format(R"({{"schemaVersion": 1, "deviceProperties": [{{"id": 0}}], )"
                             R"("traceEvents": {}, "traceName": "t"}})",
                             list);
  }

 private:
  const TraceDialect dialect_;
  std::vector<std::string> events_;
};

struct SmallStep {
  TraceDialect dialect = TraceDialect::kKineto;
  bool profiler_step = true;
  bool shapes = true;
};

// A step of 1,000 us from `begin` on, of two linear layers and a loss. Forward 100 + 200 + 50,
// backward 40 + 260 + 100, optimizer 100, the rest Python. Two gradients: 60 and 20 bytes.
inline void add_small_step(TraceWriter& trace, int number, double begin, const SmallStep& step) {
  const auto sequence = [&](int first) { return fmt::format(R"("Sequence number": {})", first); };
  const int base = 10 * number;
  if (step.profiler_step) {
    trace.add({fmt::format("ProfilerStep#{}", number), begin, 1000, "user_annotation"});
  }
  trace.add({.name = "aten::linear", .begin = begin + 50, .duration = 100, .args = sequence(base)});
  trace.add({.name = "aten::t", .begin = begin + 60, .duration = 20, .args = sequence(base)});
  trace.add(
      {.name = "aten::linear", .begin = begin + 150, .duration = 200, .args = sequence(base + 2)});
  trace.add(
      {.name = "aten::mse_loss", .begin = begin + 350, .duration = 50, .args = sequence(base + 4)});
  trace.add_node("MseLossBackward0", begin + 400, 40, base + 4);
  trace.add_node("AddmmBackward0", begin + 440, 200, base + 3);
  trace.add_gradient(begin + 640, 60, step.shapes ? "5, 3" : "");
  trace.add_node("AddmmBackward0", begin + 700, 60, base + 1);
  trace.add_gradient(begin + 760, 40, step.shapes ? "5" : "");
  trace.add({"Optimizer.step#SGD.step", begin + 850, 100, "user_annotation"});
}

inline TraceWriter small_trace(int steps, const SmallStep& step) {
  TraceWriter trace(step.dialect);
  for (int i = 0; i < steps; ++i) {
    add_small_step(trace, i, 1000.0 * i, step);
  }
  return trace;
}

}  // namespace outpace::throughput

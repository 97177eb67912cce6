#include "throughput/trace_pass.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace outpace::throughput {
namespace {

// The begin and the duration of an event are rounded separately, in the legacy dialect to
// microseconds. An event inside another may thus appear to end after it, and an event that follows
// another may appear to begin before it ends.
constexpr double kRounding = 1.5e-6;
constexpr double kNoTime = 1e-9;

using Events = std::vector<const TraceEvent*>;

bool is_node(const TraceEvent* event) {
  return event->label.role == TraceRole::kBackward;
}

// Operations and nodes on the training threads, except those inside others or inside an optimizer.
Events outermost_of(const PytorchTrace& trace) {
  const std::vector<bool> trains = training_tracks(trace);
  std::vector<double> busy_until(trace.tracks.size(), -1.0);
  Events outermost;
  for (const TraceEvent& event : trace.events) {
    const bool is_optimizer = event.label == TraceLabel{TraceRole::kOptimizer, false};
    const bool is_work = event.label == TraceLabel{TraceRole::kOperation, false} ||
                         event.label == TraceLabel{TraceRole::kBackward, false};
    const bool is_within = event.begin < busy_until[event.track] - kNoTime &&
                           event.end <= busy_until[event.track] + kRounding;
    if (!trains[event.track] || !(is_work || is_optimizer) || is_within) {
      continue;
    }
    busy_until[event.track] = event.end;
    if (is_work) {
      outermost.push_back(&event);
    }
  }
  return outermost;
}

// The number of times nodes follow operations; more than one if gradients are accumulated.
// Operations that take no time may be parts of the node before them.
std::size_t passes_in(std::span<const TraceEvent* const> events) {
  std::size_t passes = 0;
  bool in_pass = false;
  for (const TraceEvent* event : events) {
    if (is_node(event)) {
      passes += in_pass ? 0U : 1U;
      in_pass = true;
    } else if (event->end - event->begin > kRounding) {
      in_pass = false;
    }
  }
  return passes;
}

// An operation with nodes in the backward pass.
struct FoundLayer {
  double forward_begin;
  double backward_begin;
  bool has_gradient;
};

// Layers from the last to the first. Empty if numbers are missing or nodes are in another order.
std::vector<FoundLayer> layers_backward(std::span<const TraceEvent* const> operations,
                                        std::span<const TraceEvent* const> nodes) {
  std::vector<FoundLayer> layers;
  std::size_t at = operations.size();  // The operation whose node was seen last.
  for (const TraceEvent* node : nodes) {
    if (node->sequence < 0) {  // Only a gradient has no number.
      if (layers.empty()) {
        return {};
      }
      layers.back().has_gradient = true;
      continue;
    }
    // An operation has the number of the first node that it makes, or would make.
    const auto after = std::upper_bound(operations.begin(),
                                        operations.end(),
                                        node->sequence,
                                        [](std::int64_t sequence, const TraceEvent* operation) {
                                          return sequence < operation->sequence;
                                        });
    if (after == operations.begin()) {
      return {};
    }
    const auto index = static_cast<std::size_t>(after - operations.begin()) - 1;
    if (index > at) {
      return {};
    }
    if (index < at) {
      layers.push_back({operations[index]->begin, node->begin, false});
      at = index;
    }
  }
  return layers;
}

std::optional<PassMarks> marks_of(const Interval& step, std::span<const TraceEvent* const> events) {
  const auto first_node = std::find_if(events.begin(), events.end(), is_node);
  Events operations;
  std::copy_if(
      events.begin(), first_node, std::back_inserter(operations), [](const TraceEvent* event) {
        return event->sequence >= 0;
      });
  const auto in_order = [](const TraceEvent* a, const TraceEvent* b) {
    return a->sequence < b->sequence;
  };
  Events nodes;
  std::copy_if(first_node, events.end(), std::back_inserter(nodes), is_node);
  if (!std::is_sorted(operations.begin(), operations.end(), in_order)) {
    return std::nullopt;
  }
  std::vector<FoundLayer> layers = layers_backward(operations, nodes);
  const auto last = std::find_if(
      layers.begin(), layers.end(), [](const FoundLayer& layer) { return layer.has_gradient; });
  if (last == layers.end()) {
    return std::nullopt;
  }
  layers.erase(layers.begin(), last);
  layers.front().backward_begin = nodes.front()->begin;
  PassMarks marks{.begin = step.begin, .between = {}, .end = nodes.back()->end};
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    marks.between.push_back(layer->forward_begin);
  }
  for (const FoundLayer& layer : layers) {
    marks.between.push_back(layer.backward_begin);
  }
  return marks;
}

// The part of `events`, which are in order, that begins in the step.
template <typename Event, typename BeginOf>
std::span<const Event> within(const std::vector<Event>& events,
                              const Interval& step,
                              BeginOf begin_of) {
  const auto is_before = [&](const Event& event, double time) { return begin_of(event) < time; };
  const auto from = std::lower_bound(events.begin(), events.end(), step.begin, is_before);
  const auto to = std::lower_bound(from, events.end(), step.end, is_before);
  return {from, to};
}

std::vector<double> gradients_of(std::span<const TraceEvent> events) {
  std::vector<double> bytes;
  for (const TraceEvent& event : events) {
    if (event.label.role == TraceRole::kGradient) {
      bytes.push_back(event.gradient_bytes);
    }
  }
  std::sort(bytes.begin(), bytes.end());  // The tensors of one layer may be in any order.
  return bytes;
}

// When the kernels that each launch started began and ended, by correlation id.
using Kernels = std::map<std::int64_t, Interval>;

Kernels kernels_of(const PytorchTrace& trace) {
  Kernels kernels;
  for (const TraceEvent& event : trace.events) {
    if (event.label == TraceLabel{TraceRole::kKernel, true} && event.sequence >= 0) {
      kernels.try_emplace(event.sequence, Interval{event.begin, event.end});
    }
  }
  return kernels;
}

// The marks of a pass on the accelerator: of each layer and direction, when its first kernel began.
// `processor`: when the processor went through them. Nothing if no kernel was started meanwhile.
std::optional<PassMarks> marks_on_device(const PassMarks& processor,
                                         std::span<const TraceEvent> events,
                                         const Kernels& kernels) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> first(processor.between.size() + 1, kNone);
  double end = 0.0;
  for (const TraceEvent& event : events) {
    if (event.label.role != TraceRole::kLaunch || event.begin > processor.end) {
      continue;
    }
    const auto kernel = kernels.find(event.sequence);
    if (kernel == kernels.end()) {
      continue;
    }
    const auto passed = std::ranges::upper_bound(processor.between, event.begin);
    double& begin = first[static_cast<std::size_t>(passed - processor.between.begin())];
    begin = std::min(begin, kernel->second.begin);
    end = std::max(end, kernel->second.end);
  }
  if (end == 0.0) {
    return std::nullopt;
  }
  // A layer without kernels takes no time.
  double next = end;
  for (std::size_t i = first.size(); i-- > 0;) {
    next = std::min(next, first[i]);
    first[i] = next;
  }
  return PassMarks{.begin = first.front(), .between = {first.begin() + 1, first.end()}, .end = end};
}

// The gradients by the layer in whose backward pass they were received, in the order of the forward
// pass. `processor`: as above.
std::vector<std::vector<double>> layer_gradients(const PassMarks& processor,
                                                 std::span<const TraceEvent> events) {
  const std::size_t layers = processor.between.size() / 2;
  std::vector<std::vector<double>> bytes(layers);
  for (const TraceEvent& event : events) {
    if (event.label.role == TraceRole::kGradient) {
      const auto passed = std::ranges::upper_bound(processor.between, event.begin);
      const auto index = static_cast<std::size_t>(passed - processor.between.begin());
      bytes[std::min(layers - 1, 2 * layers - std::max(index, layers))].push_back(
          event.gradient_bytes);
    }
  }
  for (std::vector<double>& of_layer : bytes) {
    std::sort(of_layer.begin(), of_layer.end());
  }
  return bytes;
}

}  // namespace

TracePass pass_of(const PytorchTrace& trace, const TraceSteps& steps) {
  TracePass pass;
  const Events outermost = outermost_of(trace);
  const Kernels kernels = steps.has_device ? kernels_of(trace) : Kernels();
  bool layers_differ = false;
  for (const TraceStep& step : steps.steps) {
    const auto events =
        within(outermost, step.when, [](const TraceEvent* event) { return event->begin; });
    if (const std::size_t passes = passes_in(events); passes != 1) {
      pass.gradient_unknown = fmt::format("a step has {} backward passes", passes);
      pass.marks.clear();
      pass.gradient_bytes.clear();
      pass.layer_bytes.clear();
      return pass;
    }
    const auto all =
        within(trace.events, step.when, [](const TraceEvent& event) { return event.begin; });
    auto bytes = gradients_of(all);
    const bool is_first = &step == steps.steps.data();
    if (bytes.empty() || std::any_of(bytes.begin(), bytes.end(), [](double b) { return b < 0; })) {
      pass.gradient_unknown =
          trace.dialect == TraceDialect::kLegacy
              ? "this PyTorch, which has no Kineto, exports no shapes, record_shapes=True or not"
              : "shapes of gradients were not recorded (record_shapes=True)";
    } else if (!is_first && bytes != pass.gradient_bytes) {
      pass.gradient_unknown = "gradients are not of the same sizes in all steps";
    }
    pass.gradient_bytes = std::move(bytes);
    const std::optional<PassMarks> processor = marks_of(step.when, events);
    if (!processor) {
      continue;
    }
    auto by_layer = layer_gradients(*processor, all);
    layers_differ = layers_differ || (!pass.layer_bytes.empty() && by_layer != pass.layer_bytes);
    pass.layer_bytes = std::move(by_layer);
    if (auto marks = steps.has_device ? marks_on_device(*processor, all, kernels) : processor) {
      pass.marks.push_back(std::move(*marks));
    }
  }
  if (pass.marks.size() != steps.steps.size()) {
    pass.marks.clear();
  }
  if (!pass.gradient_unknown.empty()) {
    pass.gradient_bytes.clear();
  }
  if (pass.gradient_bytes.empty() || pass.marks.empty() || layers_differ) {
    pass.layer_bytes.clear();
  }
  return pass;
}

}  // namespace outpace::throughput

#include "throughput/trace_steps.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kStepsMin = 4;  // The minimum of a measured profile.

bool is(const TraceEvent& event, TraceRole role, bool on_device = false) {
  return event.label == TraceLabel{role, on_device};
}

Intervals times_of(const PytorchTrace& trace,
                   const std::function<bool(const TraceEvent&)>& is_wanted) {
  std::vector<Interval> intervals;
  for (const TraceEvent& event : trace.events) {
    if (is_wanted(event)) {
      intervals.push_back({event.begin, event.end});
    }
  }
  return united(std::move(intervals));
}

// The steps on the thread that has most of them, because an accelerator's streams or other
// processes may repeat them.
std::vector<Interval> profiler_steps(const PytorchTrace& trace) {
  std::vector<std::size_t> counts(trace.tracks.size());
  for (const TraceEvent& event : trace.events) {
    if (is(event, TraceRole::kStep)) {
      ++counts[event.track];
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  std::vector<Interval> steps;
  for (const TraceEvent& event : trace.events) {
    if (is(event, TraceRole::kStep) && event.track == most - counts.begin()) {
      steps.push_back({event.begin, event.end});
    }
  }
  return steps;
}

std::vector<Interval> steps_by_optimizer(const PytorchTrace& trace) {
  std::vector<Interval> steps;
  double begin = trace.events.front().begin;
  std::optional<double> end;  // End of the last optimizer since the last backward pass.
  for (const TraceEvent& event : trace.events) {
    if (is(event, TraceRole::kOptimizer)) {
      end = std::max(end.value_or(event.end), event.end);
    } else if (is(event, TraceRole::kBackward) && end) {
      steps.push_back({begin, *end});
      begin = *end;
      end.reset();
    }
  }
  if (end) {
    steps.push_back({begin, *end});
  }
  return steps;
}

// Busy times over the whole trace.
struct BusyTimes {
  bool has_device;
  Intervals forward;
  Intervals backward;
  Intervals optimizer;      // The part that is not computing.
  Intervals communication;  // The part that is not overlapped.
  Intervals device;
};

BusyTimes busy_times_of(const PytorchTrace& trace) {
  const std::vector<bool> trains = training_tracks(trace);
  const auto working = [&](TraceRole role, bool on_device) {
    return times_of(trace, [&](const TraceEvent& event) {
      return is(event, role, on_device) && (on_device || trains[event.track]);
    });
  };
  BusyTimes busy{.device = working(TraceRole::kKernel, true)};
  busy.has_device = !busy.device.empty();
  // A collective that a thread calls begins inside a node of its backward pass.
  const Intervals calls = working(TraceRole::kCommunication, false);
  const Intervals nodes = working(TraceRole::kBackward, false);
  Intervals operations = working(TraceRole::kOperation, false);
  operations.insert(operations.end(), nodes.begin(), nodes.end());
  operations = without(united(std::move(operations)), calls);
  const Intervals collectives = times_of(trace, [&](const TraceEvent& event) {
    return event.label.role == TraceRole::kCommunication &&
           (event.label.on_device || !busy.has_device);
  });
  busy.communication = without(collectives, busy.has_device ? busy.device : operations);
  const Intervals optimizer = without(working(TraceRole::kOptimizer, false), busy.communication);
  busy.optimizer = busy.has_device
                       ? without(working(TraceRole::kOptimizer, true), busy.communication)
                       : optimizer;
  busy.backward = without(without(nodes, calls), busy.communication);
  busy.forward =
      without(without(without(operations, busy.backward), optimizer), busy.communication);
  return busy;
}

TraceStep step_of(const BusyTimes& busy, const Interval& when) {
  return {.when = when,
          .forward = length_within(busy.forward, when),
          .backward = length_within(busy.backward, when),
          .optimizer = length_within(busy.optimizer, when),
          .communication = length_within(busy.communication, when),
          .device_busy = length_within(busy.device, when)};
}

}  // namespace

double TraceStep::computing() const {
  return std::max(0.0, length() - optimizer - communication);
}

double TraceStep::other() const {
  return std::max(0.0, computing() - forward - backward);
}

std::vector<bool> training_tracks(const PytorchTrace& trace) {
  std::vector<bool> trains(trace.tracks.size(), false);
  for (const TraceEvent& event : trace.events) {
    if (is(event, TraceRole::kStep) || is(event, TraceRole::kOptimizer) ||
        is(event, TraceRole::kBackward)) {
      trains[event.track] = true;
    }
  }
  return trains;
}

TraceSteps steps_of(const PytorchTrace& trace, const std::string& name) {
  const auto any = [&](TraceRole role) {
    return std::any_of(trace.events.begin(), trace.events.end(), [&](const TraceEvent& event) {
      return is(event, role);
    });
  };
  if (!any(TraceRole::kBackward)) {
    throw usage_error(
        fmt::format("{}: no backward pass (autograd::engine::evaluate_function) among its {} "
                    "events; expected a trace of training by PyTorch's profiler",
                    name,
                    trace.events_seen));
  }
  TraceSteps found{.source = StepSource::kProfilerStep};
  if (!any(TraceRole::kStep)) {
    if (!any(TraceRole::kOptimizer)) {
      throw usage_error(
          name +
          ": no steps: neither ProfilerStep#N nor Optimizer.step; give torch.profiler.profile a "
          "schedule, and call prof.step() after each step");
    }
    found.source = StepSource::kOptimizer;
  }
  const BusyTimes busy = busy_times_of(trace);
  found.has_device = busy.has_device;
  const auto whens =
      found.source == StepSource::kProfilerStep ? profiler_steps(trace) : steps_by_optimizer(trace);
  for (const Interval& when : whens) {
    const TraceStep step = step_of(busy, when);
    if (step.backward > 0.0) {
      found.steps.push_back(step);
    } else {
      ++found.without_backward;
    }
  }
  if (found.steps.size() < kStepsMin + 1) {
    throw usage_error(
        fmt::format("{}: {} steps with a backward pass; {} are needed after one for warm-"
                    "up; profile more steps",
                    name,
                    found.steps.size(),
                    kStepsMin));
  }
  found.steps.erase(found.steps.begin());
  return found;
}

}  // namespace outpace::throughput

#include "throughput/trace_report.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "throughput/quantile.h"

namespace outpace::throughput {
namespace {

constexpr double kMilliseconds = 1e3;

// A quantile of one of the steps' times, in milliseconds.
template <typename Time>
double milliseconds(const std::vector<TraceStep>& steps, double share, Time time) {
  std::vector<double> seconds;
  seconds.reserve(steps.size());
  for (const TraceStep& step : steps) {
    seconds.push_back(time(step));
  }
  return kMilliseconds * quantile(std::move(seconds), share);
}

void write_steps(const TraceFindings& found, std::string& text) {
  const auto& steps = found.steps.steps;
  const bool by_profiler = found.steps.source == StepSource::kProfilerStep;
  fmt::format_to(
      std::back_inserter(text),
      "{}: {} dialect, {} steps by {}, the first left out to warm up{}\n",
      found.file,
      name(found.dialect),
      steps.size() + 1,
      by_profiler ? "ProfilerStep" : "Optimizer.step",
      found.steps.without_backward == 0
          ? ""
          : fmt::format("; {} more without a backward pass", found.steps.without_backward));
  const auto length = [](const TraceStep& step) { return step.length(); };
  fmt::format_to(std::back_inserter(text),
                 "  step       {:9.3f} ms (median of {}; 5 % to 95 %: {:.3f} to {:.3f})\n",
                 milliseconds(steps, 0.5, length),
                 steps.size(),
                 milliseconds(steps, 0.05, length),
                 milliseconds(steps, 0.95, length));
  const auto row = [&](const char* what, auto time, const char* note) {
    fmt::format_to(std::back_inserter(text),
                   "    {:<14}{:8.3f} ms{}\n",
                   what,
                   milliseconds(steps, 0.5, time),
                   note);
  };
  const bool device = found.steps.has_device;
  row(
      "forward",
      [](const TraceStep& step) { return step.forward; },
      device ? " of the processor, which starts kernels" : "");
  row(
      "backward",
      [](const TraceStep& step) { return step.backward; },
      device ? " of the processor, which starts kernels" : "");
  row(
      "optimizer", [](const TraceStep& step) { return step.optimizer; }, "");
  row(
      "communication", [](const TraceStep& step) { return step.communication; }, " not hidden");
  row(
      "other",
      [](const TraceStep& step) { return step.other(); },
      device ? " waiting for kernels, Python, data, the profiler" : " Python, data, the profiler");
  if (device) {
    row(
        "kernels", [](const TraceStep& step) { return step.device_busy; }, " at the same time");
  }
}

void write_profile(const MeasuredProfile& profile, bool payload_given, std::string& text) {
  std::vector<double> seconds;
  seconds.reserve(profile.iterations.size());
  for (const MeasuredIteration& iteration : profile.iterations) {
    seconds.push_back(iteration.compute_seconds);
  }
  const double computing = quantile(std::move(seconds), 0.5);
  fmt::format_to(std::back_inserter(text),
                 "computing    {:9.3f} ms of mini-batches of {}: steps without optimizer and "
                 "communication\n",
                 kMilliseconds * computing,
                 profile.batch);
  fmt::format_to(std::back_inserter(text),
                 "payload      {:9.3g} MB, {}\n",
                 1e-6 * profile.payload_bytes(),
                 payload_given ? std::string("as given")
                               : fmt::format("by the shapes of gradients ({})",
                                             profile.manifest.tensors.size()));
  fmt::format_to(std::back_inserter(text),
                 "layers       {:>9}\n",
                 profile.layers.empty()
                     ? "unknown: communication is assumed to wait for all of them"
                     : fmt::format("{}", profile.layers.size()));
}

// Predictions do not see a rank that is always slower than another.
void write_slow_ranks(const std::vector<TraceFindings>& ranks, std::string& text) {
  std::vector<double> medians;
  medians.reserve(ranks.size());
  for (const TraceFindings& rank : ranks) {
    medians.push_back(milliseconds(
        rank.steps.steps, 0.5, [](const TraceStep& step) { return step.computing(); }));
  }
  const double least = *std::min_element(medians.begin(), medians.end());
  constexpr double kAlike = 1.05;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (medians[i] > kAlike * least) {
      fmt::format_to(
          std::back_inserter(text),
          "{}: computes {:.2f} times as long as the fastest rank; the profile mixes all ranks; "
          "predict --slow models slow workers\n",
          ranks[i].file,
          medians[i] / least);
    }
  }
}

}  // namespace

std::string trace_report(const std::vector<TraceFindings>& ranks,
                         const MeasuredProfile& profile,
                         bool payload_given) {
  std::string text;
  for (const TraceFindings& rank : ranks) {
    write_steps(rank, text);
  }
  write_profile(profile, payload_given, text);
  write_slow_ranks(ranks, text);
  if (const std::string caveat = profile.caveat(); !caveat.empty()) {
    text += caveat + "\n";
  }
  return text;
}

}  // namespace outpace::throughput

#include "cli/trace_profile_option.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/unpacked_file.h"
#include "links/units.h"
#include "record/output_file.h"
#include "throughput/quantile.h"
#include "throughput/trace_profile.h"

namespace outpace::cli {
namespace {

using throughput::TraceFindings;
using throughput::TraceStep;

constexpr double kMilliseconds = 1e3;

// "28938", "11.7M", "1.3B": decimal, as papers have them.
double parse_parameters(const std::string& text) {
  constexpr std::pair<char, double> kUnits[] = {{'k', 1e3}, {'M', 1e6}, {'B', 1e9}};
  std::string_view digits = text;
  double unit = 1.0;
  for (const auto& [letter, factor] : kUnits) {
    if (digits.ends_with(letter)) {
      digits.remove_suffix(1);
      unit = factor;
      break;
    }
  }
  const auto number = parse_number(digits);
  if (!number || !(*number * unit >= 1.0)) {
    throw usage_error("--parameters is '" + text + "'; it takes a number such as 28938 or 11.7M");
  }
  return *number * unit;
}

std::optional<double> payload_of(const TraceProfileOptions& options) {
  if (!options.parameters.empty() && !options.payload.empty()) {
    throw usage_error("--parameters beside --payload: they say the same; leave one out");
  }
  if (!options.parameters.empty()) {
    constexpr double kBytesEach = 4.0;
    return kBytesEach * parse_parameters(options.parameters);
  }
  if (options.payload.empty()) {
    return std::nullopt;
  }
  const auto bytes = links::parse_bytes(options.payload);
  if (!bytes || !(*bytes >= 1.0)) {
    throw usage_error("--payload is '" + options.payload +
                      "'; it takes a size with its unit such as 44.7MB");
  }
  return bytes;
}

std::optional<double> seconds_of(const char* name, const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  return to_seconds(duration_option(name, text));
}

throughput::TraceGivens givens_of(const TraceProfileOptions& options, std::uint32_t batch) {
  if (batch < 1) {
    throw usage_error("--batch is 0; it takes a whole number from 1 on");
  }
  throughput::TraceGivens givens{.batch = batch,
                                 .payload_bytes = payload_of(options),
                                 .apply_seconds = seconds_of("apply", options.apply),
                                 .message_seconds = seconds_of("message", options.message)};
  if (!options.copy_rate.empty()) {
    const auto rate = links::parse_bandwidth(options.copy_rate);
    if (!rate || !(*rate > 0.0)) {
      throw usage_error("--copy-rate is '" + options.copy_rate +
                        "'; it takes a rate above 0 such as 2GBps");
    }
    givens.byte_seconds = 1.0 / *rate;
  }
  return givens;
}

TraceFindings read_findings(const std::string& path) {
  UnpackedFile file(path);
  return throughput::findings_of(
      throughput::read_pytorch_trace([&file] { return file.next(); }, path), path);
}

// Of all steps, one of their times: its quantile in milliseconds.
template <typename Time>
double milliseconds(const std::vector<TraceStep>& steps, double share, Time time) {
  std::vector<double> seconds;
  seconds.reserve(steps.size());
  for (const TraceStep& step : steps) {
    seconds.push_back(time(step));
  }
  return kMilliseconds * throughput::quantile(std::move(seconds), share);
}

void print_steps(const TraceFindings& found) {
  const auto& steps = found.steps.steps;
  const bool by_profiler = found.steps.source == throughput::StepSource::kProfilerStep;
  fmt::print("{}: {} dialect, {} steps by {}, the first left out to warm up{}\n",
             found.file,
             throughput::name(found.dialect),
             steps.size() + 1,
             by_profiler ? "ProfilerStep" : "Optimizer.step",
             found.steps.without_backward == 0
                 ? ""
                 : fmt::format("; {} more without a backward pass", found.steps.without_backward));
  const auto length = [](const TraceStep& step) { return step.length(); };
  fmt::print("  step       {:9.3f} ms (median of {}; 5 % to 95 %: {:.3f} to {:.3f})\n",
             milliseconds(steps, 0.5, length),
             steps.size(),
             milliseconds(steps, 0.05, length),
             milliseconds(steps, 0.95, length));
  const auto row = [&](const char* what, auto time, const char* note) {
    fmt::print("    {:<14}{:8.3f} ms{}\n", what, milliseconds(steps, 0.5, time), note);
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

void print_profile(const throughput::MeasuredProfile& profile, bool payload_given) {
  std::vector<double> seconds;
  seconds.reserve(profile.iterations.size());
  for (const throughput::MeasuredIteration& iteration : profile.iterations) {
    seconds.push_back(iteration.compute_seconds);
  }
  const double computing = throughput::quantile(std::move(seconds), 0.5);
  fmt::print(
      "computing    {:9.3f} ms of mini-batches of {}: steps without optimizer and "
      "communication\n",
      kMilliseconds * computing,
      profile.batch);
  fmt::print("payload      {:9.3g} MB, {}\n",
             1e-6 * profile.payload_bytes(),
             payload_given
                 ? std::string("as given")
                 : fmt::format("by the shapes of gradients ({})", profile.manifest.tensors.size()));
  fmt::print("layers       {:>9}\n",
             profile.layers.empty() ? "not told: communication is taken to wait for them all"
                                    : fmt::format("{}", profile.layers.size()));
}

// What predictions do not see: a rank that is always slower than another.
void print_slow_ranks(const std::vector<TraceFindings>& ranks) {
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
      fmt::print(
          "{}: computes {:.2f} times as long as the fastest; the profile has all ranks "
          "mixed, predict --slow has slow workers\n",
          ranks[i].file,
          medians[i] / least);
    }
  }
}

}  // namespace

void add_trace_profile_options(job::OptionList& list, TraceProfileOptions& options) {
  list.add("from-trace",
                  options.files,
                  "What PyTorch's profiler exported, .json or .json.gz, a file for each rank: no "
                  "run; takes --batch")
      ;
  list.add("parameters",
                     options.parameters,
                     "With --from-trace, where shapes were not recorded: 11.7M, of 4 bytes each");
  list.add("payload", options.payload, "With --from-trace: the same as bytes, 44.7MB");
  list.add("apply",
                     options.apply,
                     "With --from-trace: what the server needs for a gradient (default: what the "
                     "trace's optimizer took)");
  list.add("message", options.message, "With --from-trace: of one message one way (default: 0s)");
  list.add("copy-rate",
                     options.copy_rate,
                     "With --from-trace: at which processors serialise and copy, 2GBps (default: "
                     "in no time)");
}

void check_trace_profile(const TraceProfileOptions& options, const Origins& origins) {
  const bool traced = !options.files.empty();
  const std::vector<std::string> of_other_way =
      traced ? std::vector<std::string>{"network",
                                        "data",
                                        "optimizer",
                                        "threads",
                                        "seed",
                                        "iterations",
                                        "listen"}
             : std::vector<std::string>{"parameters", "payload", "apply", "message", "copy-rate"};
  for (const std::string& option : of_other_way) {
    if (origins.contains(option)) {
      throw usage_error(fmt::format(
          "--{} {} --from-trace; leave it out", option, traced ? "does not go with" : "is for"));
    }
  }
  if (traced && !origins.contains("batch")) {
    throw usage_error(
        "--from-trace takes --batch: how many examples a step is of, the trace does not say");
  }
}

void profile_traces(const TraceProfileOptions& options,
                    std::uint32_t batch,
                    const std::string& output) {
  const throughput::TraceGivens givens = givens_of(options, batch);
  std::vector<TraceFindings> ranks;
  ranks.reserve(options.files.size());
  for (const std::string& path : options.files) {
    ranks.push_back(read_findings(path));
  }
  const throughput::MeasuredProfile profile = throughput::profile_of(ranks, givens);
  record::write_atomically(output, profile.to_json(""));
  for (const TraceFindings& rank : ranks) {
    print_steps(rank);
  }
  print_profile(profile, givens.payload_bytes.has_value());
  print_slow_ranks(ranks);
  if (const std::string caveat = profile.caveat(); !caveat.empty()) {
    fmt::print("{}\n", caveat);
  }
  fmt::print("written to {}; next: outpace predict {} --workers 1..16\n", output, output);
}

Run add_profile_of_trace(job::OptionList& list) {
  struct Options {
    TraceProfileOptions traces;
    std::uint32_t batch = 0;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  add_trace_profile_options(command, options->traces);
  list.add("batch", options->batch, "Examples in a mini-batch");
  list.add_letter_o("output", options->output, "The profile").required();
  return [options](const job::OptionList& chosen) {
    if (options->traces.files.empty()) {
      throw usage_error(
          "profile takes --from-trace: this outpace was built without libtorch and cannot train");
    }
    check_trace_profile(options->traces, origins);
    profile_traces(options->traces, options->batch, options->output);
    return 0;
  };
}

}  // namespace outpace::cli

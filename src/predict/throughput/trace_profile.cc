#include "throughput/trace_profile.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "throughput/pass_marks.h"
#include "throughput/quantile.h"

namespace outpace::throughput {
namespace {

constexpr double kBytesOfNumber = 4.0;
// A trace does not tell. So many that no epoch ends within a prediction.
constexpr std::uint64_t kMiniBatchesOfDataSet = 100'000;

constexpr const char* kSayPayload =
    "give --parameters 11.7M, which is sum(p.numel() for p in net.parameters()), or --payload "
    "44.7MB";

std::vector<double> gradient_bytes_of(std::span<const TraceFindings> ranks,
                                      const TraceGivens& givens) {
  if (givens.payload_bytes) {
    return {*givens.payload_bytes};
  }
  const TraceFindings& first = ranks.front();
  for (const TraceFindings& rank : ranks) {
    if (rank.pass.gradient_bytes.empty()) {
      throw usage_error(fmt::format("{}: the size of the gradient is unknown: {}; {}",
                                    rank.file,
                                    rank.pass.gradient_unknown,
                                    kSayPayload));
    }
    if (rank.pass.gradient_bytes != first.pass.gradient_bytes) {
      throw usage_error(fmt::format(
          "{}: its gradient differs from that of {}; are they of one job?", rank.file, first.file));
    }
  }
  return first.pass.gradient_bytes;
}

protocol::Manifest manifest_of(const std::vector<double>& tensor_bytes, const std::string& file) {
  protocol::Manifest manifest;
  double numbers = 0.0;
  for (const double bytes : tensor_bytes) {
    const double of_tensor = std::ceil(bytes / kBytesOfNumber);
    numbers += of_tensor;
    if (!(numbers <= static_cast<double>(protocol::kWeightsMax)) ||
        manifest.tensors.size() >= protocol::kTensorsMax) {
      throw usage_error(
          fmt::format("{}: a gradient of {:.3g} bytes in {} tensors, and more than {:.3g} bytes "
                      "or {} tensors cannot be trained",
                      file,
                      kBytesOfNumber * numbers,
                      tensor_bytes.size(),
                      kBytesOfNumber * static_cast<double>(protocol::kWeightsMax),
                      protocol::kTensorsMax));
    }
    manifest.tensors.push_back({.name = fmt::format("gradient {}", manifest.tensors.size()),
                                .shape = {static_cast<std::uint64_t>(of_tensor)}});
  }
  return manifest;
}

// Puts the tensors in the layers' order, if each rank knows which layer has which.
void join_with_tensors(std::span<const TraceFindings> ranks,
                       const TraceGivens& givens,
                       MeasuredProfile& profile) {
  const std::vector<std::vector<double>>& bytes = ranks.front().pass.layer_bytes;
  const bool alike = std::ranges::all_of(
      ranks, [&](const TraceFindings& rank) { return rank.pass.layer_bytes == bytes; });
  if (givens.payload_bytes || !alike || bytes.size() != profile.layers.size()) {
    return;
  }
  std::vector<double> in_order;
  for (std::size_t layer = 0; layer < bytes.size(); ++layer) {
    profile.layers[layer].tensors = bytes[layer].size();
    in_order.insert(in_order.end(), bytes[layer].begin(), bytes[layer].end());
  }
  profile.manifest = manifest_of(in_order, ranks.front().file);
}

// What an update took, by the median of all steps; 0 if that was not recorded.
double optimizer_seconds(std::span<const TraceFindings> ranks) {
  std::vector<double> seconds;
  for (const TraceFindings& rank : ranks) {
    for (const TraceStep& step : rank.steps.steps) {
      seconds.push_back(step.optimizer);
    }
  }
  constexpr double kMiddle = 0.5;
  return quantile(std::move(seconds), kMiddle);
}

// Notes in the profile what nobody measured, and gives what to take instead.
double cost(MeasuredProfile& profile, const char* name, const std::optional<double>& given) {
  if (!given) {
    profile.not_measured[name] = kTakenAsZero;
  }
  return given.value_or(0.0);
}

}  // namespace

TraceFindings findings_of(const PytorchTrace& trace, const std::string& file) {
  TraceFindings findings{
      .file = file, .dialect = trace.dialect, .steps = steps_of(trace, file), .pass = {}};
  findings.pass = pass_of(trace, findings.steps);
  return findings;
}

TraceGivens givens_of(const job::ProfileJob& job) {
  const job::TracesGiven& traces = job.traces;
  const auto seconds_if = [](const std::optional<Duration>& duration) {
    return duration ? std::optional(to_seconds(*duration)) : std::nullopt;
  };
  TraceGivens givens{.batch = job.training.batch,
                     .payload_bytes = job::payload_bytes(traces),
                     .apply_seconds = seconds_if(traces.apply),
                     .message_seconds = seconds_if(traces.message),
                     .byte_seconds = std::nullopt};
  if (traces.copy_rate) {
    givens.byte_seconds = 1.0 / traces.copy_rate->bytes_per_second;
  }
  return givens;
}

MeasuredProfile profile_of(std::span<const TraceFindings> ranks, const TraceGivens& givens) {
  CHECK(!ranks.empty());
  const TraceFindings& first = ranks.front();
  MeasuredProfile profile{.network = "a trace of PyTorch's profiler",
                          .data = first.file,
                          .batch = givens.batch,
                          .dataset_examples = kMiniBatchesOfDataSet * givens.batch,
                          .manifest = manifest_of(gradient_bytes_of(ranks, givens), first.file)};
  std::vector<PassMarks> marks;
  bool all_told = true;
  for (const TraceFindings& rank : ranks) {
    for (const TraceStep& step : rank.steps.steps) {
      profile.iterations.push_back({step.computing(), step.length() - step.computing()});
    }
    all_told = all_told && !rank.pass.marks.empty();
    marks.insert(marks.end(), rank.pass.marks.begin(), rank.pass.marks.end());
  }
  if (all_told) {
    profile.layers = layers_of(marks);
    join_with_tensors(ranks, givens, profile);
  }
  profile.apply_seconds = cost(profile, "apply_seconds", givens.apply_seconds);
  profile.message_seconds = cost(profile, "message_seconds", givens.message_seconds);
  profile.byte_seconds = cost(profile, "byte_seconds", givens.byte_seconds);
  const double optimizer = optimizer_seconds(ranks);
  if (!givens.apply_seconds && optimizer > 0.0) {
    profile.apply_seconds = optimizer;
    profile.not_measured["apply_seconds"] = kTakenFromOptimizer;
  }
  return profile;
}

}  // namespace outpace::throughput

// What `outpace profile` is told: the network or the user's program to measure, or the traces of
// PyTorch's profiler to read instead.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/spec.h"
#include "base/time.h"
#include "job/live_job.h"
#include "job/option_list.h"
#include "job/quantities.h"
#include "job/training.h"

namespace outpace::job {

// How many parameters a network has: "28938", "11.7M", "1.3B", decimal, as papers write them.
struct ParameterCount {
  double count;  // At least 1.
  std::string text;
};
template <>
struct Value<ParameterCount> {
  static constexpr const char* kType = "PARAMETERS";
  static std::string takes() { return "a number of at least 1 such as 28938 or 11.7M"; }
  static std::optional<ParameterCount> parse(std::string_view text);
  static std::string text(const ParameterCount& value) { return value.text; }
};

// Traces, and what they do not say.
struct TracesGiven {
  std::vector<std::string> files;  // One for each rank; empty: a worker is measured.
  std::optional<ParameterCount> parameters;
  std::optional<Bytes> payload;
  std::optional<Duration> apply;    // Nothing: as long as the trace's optimizer.
  std::optional<Duration> message;  // Nothing: no time.
  std::optional<Bandwidth> copy_rate;
};

// Bytes of a gradient; nothing if neither --parameters nor --payload is given.
[[nodiscard]] std::optional<double> payload_bytes(const TracesGiven& traces);

struct ProfileJob {
  ProfileJob() {
    training.policy = Spec::parse("async");
    training.workers = 1;
    serving.listen = "127.0.0.1:0";
  }

  Training training;  // Its batch, optimizer and seed are options.
  Serving serving;    // Its listen is one.
  Spec network = Spec::parse("mlp");
  Spec data = Spec::parse("fashion-mnist");
  std::uint32_t threads = 1;
  std::uint32_t iterations = 60;  // To measure.
  std::string output;             // A file.
  TracesGiven traces;
  std::vector<std::string> command;  // A user's program to measure; empty: the network.
};
void declare(OptionList& options, ProfileJob& job);

// After the options are set. Throws a usage error for options that are wrong or do not go together.
void check(const OptionList& options, const ProfileJob& job);

}  // namespace outpace::job

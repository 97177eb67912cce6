#include "job/profile_job.h"

#include "base/error.h"
#include "base/text.h"
#include "job/work.h"

namespace outpace::job {
namespace {

constexpr double kBytesOfParameter = 4.0;

void declare_traces(OptionList& options, TracesGiven& traces) {
  options
      .add("from-trace",
           traces.files,
           "Read this trace of PyTorch's profiler, .json or .json.gz, instead of measuring a "
           "worker; one file for each rank (repeatable); takes --batch")
      .type("FILE");
  options.add("parameters",
              traces.parameters,
              "With --from-trace, if it has no shapes: number of the network's parameters, of 4 "
              "bytes each, such as 11.7M");
  options.add("payload",
              traces.payload,
              "With --from-trace, if it has no shapes: size of a gradient, such as 44.7MB");
  options
      .add("apply",
           traces.apply,
           "With --from-trace: time that the server needs for a gradient, such as 3ms")
      .default_words("as long as the trace's optimizer");
  options
      .add("message",
           traces.message,
           "With --from-trace: time of one message, one way, such as 100us")
      .default_words("0s");
  options
      .add("copy-rate",
           traces.copy_rate,
           "With --from-trace: rate at which processors serialise and copy, such as 2GBps")
      .default_words("copying costs no time");
}

void check_trace(const OptionList& options, const ProfileJob& job) {
  if (!job.command.empty()) {
    throw usage_error("--from-trace conflicts with a command to measure; remove one");
  }
  for (const char* option :
       {"network", "data", "optimizer", "threads", "seed", "iterations", "listen"}) {
    if (options.at(option).changed()) {
      throw usage_error("--" + std::string(option) +
                        " conflicts with --from-trace: it is for measuring a worker; remove one");
    }
  }
  if (!options.given("batch")) {
    throw usage_error(
        "--from-trace takes --batch: the trace does not say how many examples a step has");
  }
  if (job.traces.parameters && job.traces.payload) {
    throw usage_error(
        "--parameters conflicts with --payload: both give the size of a gradient; remove one");
  }
  if (job.traces.payload && !(job.traces.payload->bytes >= 1.0)) {
    throw usage_error("--payload is '" + job.traces.payload->text +
                      "'; it takes a size with its unit, at least 1B, such as 44.7MB");
  }
}

void check_command(const OptionList& options) {
  for (const char* option : {"network", "data", "optimizer"}) {
    if (options.at(option).changed()) {
      throw usage_error("--" + std::string(option) +
                        " conflicts with a command to measure, which brings its own; remove one");
    }
  }
}

void check_measuring(const OptionList& options, const ProfileJob& job) {
  for (const char* option : {"parameters", "payload", "apply", "message", "copy-rate"}) {
    if (options.at(option).changed()) {
      throw usage_error("--" + std::string(option) +
                        " without --from-trace; add --from-trace, or "
                        "remove it");
    }
  }
  if (!job.command.empty()) {
    check_command(options);
  }
  if (!is_local(job.serving.listen)) {
    throw usage_error("--listen " + job.serving.listen +
                      " reaches beyond this machine, and the profiled worker is on it; it takes "
                      "127.0.0.1:0 or unix:PATH");
  }
}

}  // namespace

std::optional<ParameterCount> Value<ParameterCount>::parse(std::string_view text) {
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
    return std::nullopt;
  }
  return ParameterCount{*number * unit, std::string(text)};
}

std::optional<double> payload_bytes(const TracesGiven& traces) {
  if (traces.parameters) {
    return kBytesOfParameter * traces.parameters->count;
  }
  return traces.payload ? std::optional(traces.payload->bytes) : std::nullopt;
}

void declare(OptionList& options, ProfileJob& job) {
  constexpr double kBatchMost = 1U << 20U;
  constexpr double kIterationsLeast = 4;
  constexpr double kIterationsMost = 100'000;
  options
      .add("command",
           job.command,
           "Command to measure in place of --network, and its words, after --: a program that "
           "joins by the Python package or include/outpace/worker.h")
      .type("COMMAND")
      .positional();
  options.add("network", job.network, std::string("Network to measure: ") + kNetworks);
  options.add("data", job.data, std::string("Data set to measure on: ") + kDataSets);
  options.add("batch", job.training.batch, "Examples in a mini-batch").between(1, kBatchMost);
  options.add("optimizer", job.training.optimizer, "Optimizer of the server, as in train");
  options.add("threads", job.threads, "Threads of libtorch").between(1);
  options.add("seed", job.training.seed, "Seed of the initial weights and of the examples' order");
  options.add("iterations", job.iterations, "Number of iterations to measure")
      .between(kIterationsLeast, kIterationsMost);
  options
      .add("listen",
           job.serving.listen,
           "Address at which worker and server meet: 127.0.0.1:0 or unix:PATH")
      .type("ADDRESS");
  options.add("output", job.output, "File to write the profile to, as JSON")
      .type("FILE")
      .letter('o')
      .required();
  declare_traces(options, job.traces);
}

void check(const OptionList& options, const ProfileJob& job) {
  if (job.traces.files.empty()) {
    check_measuring(options, job);
  } else {
    check_trace(options, job);
  }
}

}  // namespace outpace::job

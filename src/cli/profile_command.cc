#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/scratch_directory.h"
#include "cli/trace_profile_option.h"
#include "collective/sum_cost.h"
#include "learn/gradients.h"
#include "live/lone_run.h"
#include "live/paced_source.h"
#include "record/output_file.h"
#include "server/shard.h"
#include "throughput/measured_profile.h"
#include "throughput/pass_marks.h"
#include "throughput/quantile.h"

namespace outpace::cli {
namespace {

using std::chrono::steady_clock;
using throughput::MeasuredProfile;
using throughput::PassMarks;

constexpr std::uint32_t kIterationsMost = 100'000;
constexpr std::size_t kWarmUp = 5;  // The first ones find no memory and no code in place.
constexpr double kMicroseconds = 1e6;

struct ProfileOptions {
  JobOptions job;
  WorkOptions work;
  std::uint32_t iterations = 60;
  std::string output;
  TraceProfileOptions traces;
};

double seconds_now() {
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  constexpr double kMiddle = 0.5;
  return throughput::quantile(std::move(values), kMiddle);
}

// Computes what another source computes, and notes when.
class Stopwatch final : public worker::GradientSource {
 public:
  explicit Stopwatch(worker::GradientSource& source) : source_(source) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return source_.manifest(); }
  [[nodiscard]] std::uint64_t dataset_examples() const override {
    return source_.dataset_examples();
  }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return source_.initial_weights();
  }

  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    PassMarks marks{.begin = seconds_now(), .between = {}, .end = 0.0};
    const auto noting = [&marks, &cancelled] {
      marks.between.push_back(seconds_now());
      return cancelled();
    };
    const auto loss = source_.compute(weights, examples, gradient, noting);
    marks.end = seconds_now();
    passes_.push_back(std::move(marks));
    return loss;
  }

  // But for the warming up.
  [[nodiscard]] std::span<const PassMarks> passes() const {
    return std::span(passes_).subspan(std::min(passes_.size(), kWarmUp));
  }

 private:
  worker::GradientSource& source_;
  std::vector<PassMarks> passes_;
};

// What one worker did, and was seen to do, in a job of its own.
std::vector<PassMarks> run(const ProfileOptions& options, worker::GradientSource& source) {
  JobOptions job = options.job;
  if (!job.listen.empty() && !is_local(job.listen)) {
    throw usage_error("--listen " + job.listen +
                      " reaches beyond this machine, and a profile's worker is on it; it takes "
                      "127.0.0.1:0 or unix:PATH");
  }
  job.workers = 1;
  job.iterations = kWarmUp + options.iterations + 1;  // The last one's rest is not seen.
  live::ServerOptions server = to_server_options(job);
  std::random_device device;
  server.token = fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
  Stopwatch stopwatch(source);
  (void)live::run_alone(std::move(server), stopwatch);
  if (stopwatch.passes().size() < 2) {
    throw Error(ExitCode::kFailure, "the worker computed less than it was asked to");
  }
  return {stopwatch.passes().begin(), stopwatch.passes().end()};
}

std::vector<throughput::MeasuredIteration> iterations_of(std::span<const PassMarks> passes) {
  std::vector<throughput::MeasuredIteration> iterations;
  iterations.reserve(passes.size());
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) {
    iterations.push_back({passes[i].end - passes[i].begin, passes[i + 1].begin - passes[i].end});
  }
  return iterations;
}

double median_rest(std::span<const throughput::MeasuredIteration> iterations) {
  std::vector<double> rests;
  rests.reserve(iterations.size());
  for (const throughput::MeasuredIteration& iteration : iterations) {
    rests.push_back(iteration.rest_seconds);
  }
  return median(std::move(rests));
}

// One way of a message without weights: half of what is between two tasks of a worker that has
// nothing to compute, of a network of one number.
double message_seconds(const ProfileOptions& options) {
  const auto source = live::make_paced_source({.manifest = {{{.name = "one", .shape = {1}}}},
                                               .dataset_examples = 1'000'000,
                                               .batch = options.job.batch,
                                               .seconds = {0.0},
                                               .worker = WorkerId{0},
                                               .seed = 1});
  return median_rest(iterations_of(run(options, *source))) / 2.0;
}

// What the server's shard needs from a gradient that has come to weights that can go out.
double apply_seconds(const ProfileOptions& options, const protocol::Manifest& manifest) {
  const Training training = to_training(options.job, protocol::kWorkersMax);
  server::Shard shard(training.shard, std::vector<float>(manifest.numbers()), manifest.sizes());
  std::vector<double> seconds;
  for (std::size_t i = 0; i < kWarmUp + options.iterations; ++i) {
    const std::vector<float> gradient(manifest.numbers(), 1e-9F);
    std::vector<float> arrived = gradient;
    (void)shard.release(WorkerId{0});
    const double begin = seconds_now();
    (void)shard.hold(WorkerId{0}, std::move(arrived));
    shard.accept({.worker = WorkerId{0},
                   .sequence = Sequence{i + 1},
                   .weight = 1.0,
                   .examples = options.job.batch});
    shard.step({.rate = rate_in_force(options.job)});
    (void)shard.release(WorkerId{0});
    if (i >= kWarmUp) {
      seconds.push_back(seconds_now() - begin);
    }
  }
  return median(std::move(seconds));
}

// In microseconds since the first pass began: layers, and the way there and back.
std::string trace_of(std::span<const PassMarks> passes) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  const auto slice = [&](std::string name, const char* category, double from, double to) {
    events.push_back({{"name", std::move(name)},
                      {"cat", category},
                      {"ph", "X"},
                      {"ts", kMicroseconds * (from - passes.front().begin)},
                      {"dur", kMicroseconds * (to - from)},
                      {"pid", 0},
                      {"tid", 0}});
  };
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const PassMarks& pass = passes[i];
    slice(fmt::format("iteration {}", i), "compute", pass.begin, pass.end);
    const std::size_t layers = pass.between.size() / 2;
    for (std::size_t mark = 0; mark < pass.between.size(); ++mark) {
      const double to = mark + 1 < pass.between.size() ? pass.between[mark + 1] : pass.end;
      slice(mark < layers ? fmt::format("layer {} forward", mark)
                          : fmt::format("layer {} backward", 2 * layers - 1 - mark),
            mark < layers ? "forward" : "backward",
            pass.between[mark],
            to);
    }
    if (i + 1 < passes.size()) {
      slice("push, apply, pull", "communication", pass.end, passes[i + 1].begin);
    }
  }
  return events.dump();
}

void check(const ProfileOptions& options) {
  if (options.iterations < 4 || options.iterations > kIterationsMost) {
    throw usage_error(
        fmt::format("--iterations is {}; it takes 4 to {}", options.iterations, kIterationsMost));
  }
  check_work_options(options.work, 1);
}

MeasuredProfile measure(const ProfileOptions& options, std::string& trace) {
  const auto source =
      learn::make_gradient_source(Spec::parse(options.work.network),
                                  Spec::parse(options.work.data),
                                  {options.job.seed, static_cast<int>(options.work.threads)});
  const std::vector<PassMarks> passes = run(options, *source);
  trace = trace_of(passes);
  MeasuredProfile profile{.network = options.work.network,
                          .data = options.work.data,
                          .batch = options.job.batch,
                          .dataset_examples = source->dataset_examples(),
                          .manifest = source->manifest(),
                          .iterations = iterations_of(passes),
                          .layers = throughput::layers_of(passes),
                          .apply_seconds = apply_seconds(options, source->manifest()),
                          .message_seconds = message_seconds(options)};
  const double of_bytes =
      median_rest(profile.iterations) - profile.apply_seconds - 2.0 * profile.message_seconds;
  profile.byte_seconds = std::max(0.0, of_bytes / (2.0 * profile.payload_bytes()));
  const ScratchDirectory scratch;
  const collective::SumCost sum = collective::measure_sum_cost(
      scratch.file("rendezvous"), profile.manifest.numbers(), options.iterations);
  profile.sums = {.message_seconds = sum.message_seconds, .byte_seconds = sum.byte_seconds};
  return profile;
}

void print(const MeasuredProfile& profile, const std::string& path) {
  std::vector<double> computing;
  double most = 0.0;
  for (const throughput::MeasuredIteration& iteration : profile.iterations) {
    computing.push_back(iteration.compute_seconds);
    most = std::max(most, iteration.compute_seconds);
  }
  const double middle = median(std::move(computing));
  const double rest = median_rest(profile.iterations);
  constexpr double kMilli = 1e3;
  fmt::print("{} on {}, mini-batches of {}: {:.3g} MB of weights\n",
             profile.network,
             profile.data,
             profile.batch,
             1e-6 * profile.payload_bytes());
  fmt::print("  computing        {:8.3f} ms (median of {}; most {:.3f} ms)\n",
             kMilli * middle,
             profile.iterations.size(),
             kMilli * most);
  fmt::print("  push, apply, pull{:8.3f} ms: messages {:.3f}, bytes {:.3f}, apply {:.3f}\n",
             kMilli * rest,
             2 * kMilli * profile.message_seconds,
             2 * kMilli * profile.payload_bytes() * profile.byte_seconds,
             kMilli * profile.apply_seconds);
  fmt::print("  a sum of two     {:8.3f} ms: messages {:.3f}, bytes {:.3f}\n",
             kMilli * (2 * profile.sums->message_seconds +
                       profile.payload_bytes() * profile.sums->byte_seconds),
             2 * kMilli * profile.sums->message_seconds,
             kMilli * profile.payload_bytes() * profile.sums->byte_seconds);
  fmt::print("  alone            {:8.0f} examples/s\n", profile.batch / (middle + rest));
  fmt::print("written to {}; next: outpace predict {} --workers 1..16\n", path, path);
}

int profile(const ProfileOptions& options) {
  check(options);
  std::string trace;
  const MeasuredProfile profile = measure(options, trace);
  record::write_atomically(options.output, profile.to_json(trace));
  print(profile, options.output);
  return 0;
}

}  // namespace

Run add_profile(CLI::App& command) {
  auto options = std::make_shared<ProfileOptions>();
  options->job.listen = "127.0.0.1:0";
  command.option_defaults()->always_capture_default();
  command.add_option("--network", options->work.network, kNetworks);
  command.add_option("--data", options->work.data, kDataSets);
  command.add_option("--batch", options->job.batch, "Examples in a mini-batch");
  command.add_option("--optimizer", options->job.optimizer, "As in train");
  command.add_option("--threads", options->work.threads, "Of libtorch");
  command.add_option("--seed", options->job.seed, "Of the initial weights");
  command.add_option("--iterations", options->iterations, "To measure");
  command.add_option(
      "--listen", options->job.listen, "How worker and server meet: 127.0.0.1:0 or unix:PATH");
  command.add_option("-o,--output", options->output, "The profile")->required();
  add_trace_profile_options(command, options->traces);
  return [options](const CLI::App& /*chosen*/, const Origins& origins) {
    check_trace_profile(options->traces, origins);
    if (!options->traces.files.empty()) {
      profile_traces(options->traces, options->job.batch, options->output);
      return 0;
    }
    return profile(*options);
  };
}

}  // namespace outpace::cli

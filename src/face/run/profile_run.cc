// Tested by test/program/profile_test.py (class Measured).

#include "run/profile_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "live/lone_run.h"
#include "live/paced_source.h"
#include "protocol/messages.h"
#include "run/packing_speed.h"
#include "run/server_run.h"
#include "server/shard.h"
#include "throughput/operations.h"
#include "throughput/pass_events.h"
#include "throughput/pass_marks.h"
#include "throughput/quantile.h"

namespace outpace::run {
namespace {

using throughput::PassMarks;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
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
  [[nodiscard]] protocol::Script script() const override { return source_.script(); }
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
    // The first pass tells which layer needs which weights; it is one of the warm-up.
    const bool is_first = passes_.empty();
    const auto loss = is_first
                          ? source_.compute_overlapped(weights,
                                                       examples,
                                                       gradient,
                                                       {.cancelled = noting,
                                                        .wait_for =
                                                            [this](std::size_t numbers) {
                                                              needs_.push_back(numbers);
                                                              return Weights::kThere;
                                                            },
                                                        .ready = [](std::size_t /*tensor*/) {}})
                          : source_.compute(weights, examples, gradient, noting);
    marks.end = seconds_now();
    passes_.push_back(std::move(marks));
    return loss;
  }

  // How many of the weights each layer needs, with those of the layers before.
  [[nodiscard]] const std::vector<std::size_t>& needs() const { return needs_; }
  // Without those of the warm-up.
  [[nodiscard]] std::span<const PassMarks> passes() const {
    return std::span(passes_).subspan(std::min(passes_.size(), kWarmUp));
  }

 private:
  worker::GradientSource& source_;
  std::vector<PassMarks> passes_;
  std::vector<std::size_t> needs_;
};

struct Run {
  std::vector<PassMarks> passes;
  std::vector<std::size_t> needs;
};

// The passes of one worker, in a job of its own.
Run run(const job::ProfileJob& job, worker::GradientSource& source) {
  job::Training training = job.training;
  // The rest of the last iteration is not seen.
  training.limits.iterations = kWarmUp + job.iterations + 1;
  live::ServerOptions server = to_server_options(training, {}, job.serving);
  std::random_device device;
  server.token = fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
  Stopwatch stopwatch(source);
  (void)live::run_alone(std::move(server), stopwatch);
  if (stopwatch.passes().size() < 2) {
    throw Error(ExitCode::kFailure, "the worker computed fewer iterations than it was asked for");
  }
  return {.passes = {stopwatch.passes().begin(), stopwatch.passes().end()},
          .needs = stopwatch.needs()};
}

double median_rest(std::span<const throughput::MeasuredIteration> iterations) {
  std::vector<double> rests;
  rests.reserve(iterations.size());
  for (const throughput::MeasuredIteration& iteration : iterations) {
    rests.push_back(iteration.rest_seconds);
  }
  return median(std::move(rests));
}

// One way of a message without weights: half of the time between two tasks of a worker that
// computes nothing, on a network of one number.
double message_seconds(const job::ProfileJob& job) {
  const auto source = live::make_paced_source({.manifest = {{{.name = "one", .shape = {1}}}},
                                               .dataset_examples = 1'000'000,
                                               .batch = job.training.batch,
                                               .seconds = {0.0},
                                               .worker = WorkerId{0},
                                               .seed = 1});
  return median_rest(throughput::iterations_of(run(job, *source).passes)) / 2.0;
}

// From a gradient that has come to weights that can go out.
double apply_seconds(const job::ProfileJob& job, const protocol::Manifest& manifest) {
  const job::Resolved resolved =
      job::resolve(job.training, {}, {.workers_max = protocol::kWorkersMax});
  server::Shard shard(resolved.shard, std::vector<float>(manifest.numbers()), manifest.sizes());
  std::vector<double> seconds;
  for (std::size_t i = 0; i < kWarmUp + job.iterations; ++i) {
    const std::vector<float> gradient(manifest.numbers(), 1e-9F);
    std::vector<float> arrived = gradient;
    (void)shard.release(WorkerId{0});
    const double begin = seconds_now();
    (void)shard.hold(WorkerId{0}, std::move(arrived));
    shard.accept({.worker = WorkerId{0},
                  .sequence = Sequence{i + 1},
                  .weight = 1.0,
                  .examples = job.training.batch});
    shard.step({.rate = job::rate_in_force(job.training)});
    (void)shard.release(WorkerId{0});
    if (i >= kWarmUp) {
      seconds.push_back(seconds_now() - begin);
    }
  }
  return median(std::move(seconds));
}

}  // namespace

MeasuredWorker profile_of(const job::ProfileJob& job,
                          throughput::MeasuredProfile profile,
                          std::span<const PassMarks> passes,
                          const std::vector<std::size_t>& needs,
                          const MeasurePeers& measure_peers) {
  profile.batch = job.training.batch;
  profile.iterations = throughput::iterations_of(passes);
  profile.layers = throughput::layers_of(passes);
  profile.apply_seconds = apply_seconds(job, profile.manifest);
  profile.message_seconds = message_seconds(job);
  profile.packing = measure_packing(profile.manifest.numbers());
  throughput::tell_tensors(profile, needs);
  const double of_bytes =
      median_rest(profile.iterations) - profile.apply_seconds - 2.0 * profile.message_seconds;
  profile.byte_seconds = std::max(0.0, of_bytes / (2.0 * profile.payload_bytes()));
  if (measure_peers) {
    const collective::PeerCost cost = measure_peers(profile.manifest.numbers(), job.iterations);
    profile.sums = {.message_seconds = cost.message_seconds,
                    .byte_seconds = cost.byte_seconds,
                    .meeting_message_seconds = cost.meeting_message_seconds};
  }
  return {std::move(profile), throughput::pass_events(passes)};
}

MeasuredWorker measure_worker(const job::ProfileJob& job,
                              const Learner& learner,
                              const MeasurePeers& measure_peers) {
  const auto source = learner.gradients({.network = job.network,
                                         .data = job.data,
                                         .seed = job.training.seed,
                                         .threads = job.threads});
  const auto [passes, needs] = run(job, *source);
  return profile_of(job,
                    {.network = job.network.text,
                     .data = job.data.text,
                     .dataset_examples = source->dataset_examples(),
                     .manifest = source->manifest()},
                    passes,
                    needs,
                    measure_peers);
}

}  // namespace outpace::run

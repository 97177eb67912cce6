#include "cli/collective_run.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/child_words.h"
#include "cli/run_recorder.h"
#include "cli/scratch_directory.h"
#include "cli/topology.h"
#include "collective/host.h"
#include "live/supervisor.h"
#include "live/token_file.h"

namespace outpace::cli {
namespace {

constexpr std::uint64_t kNever = std::uint64_t{1} << 62U;  // Examples; no run gets there.

// What the supervisor's thread tells the host: why a process went, if it says so first.
class Watchman {
 public:
  Watchman(collective::Host& host, RunRecorder& recorder) : host_(host), recorder_(recorder) {}

  live::SupervisorEvents events() {
    return {
        .ended = [this](const live::ChildEnd& end) { ended(end); },
        .workers_all_ended =
            [this] {
              host_.fail(ExitCode::kTooFewWorkers,
                         broken_.empty() ? "all workers have ended" : broken_);
            },
        .interrupted = [this](int signal) { host_.stop(ExitCode{128 + signal}, "interrupted"); }};
  }

  // What would fail again in the same way: wrong input, another network.
  [[nodiscard]] std::optional<live::ChildEnd> refusal() {
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

 private:
  void ended(const live::ChildEnd& end) {
    if (end.code == 0) {
      return;
    }
    const std::string line = without_prefix(end.last_line);
    const std::string what =
        end.code > 128 ? fmt::format("{} was ended by signal {}", end.name, end.code - 128)
                       : fmt::format("{} exited with {}: {}", end.name, end.code, line);
    if (end.is_worker && end.code == static_cast<int>(ExitCode::kTooFewWorkers)) {
      broken_ = broken_.empty() ? what : broken_;  // Another one's end was the reason.
      return;
    }
    if (end.code > 1 && end.code <= 6) {
      const std::lock_guard lock(mutex_);
      refusal_ = refusal_ ? refusal_ : end;
      refusal_->last_line = without_prefix(refusal_->last_line);
    }
    if (end.restarted) {
      recorder_.say(what + "; starting it again");
      return;
    }
    host_.fail(end.code > 128 && end.is_worker ? ExitCode::kTooFewWorkers
               : end.code > 6                  ? ExitCode::kFailure  // Not a code of ours.
                                               : ExitCode{end.code},
               what);
  }

  collective::Host& host_;
  RunRecorder& recorder_;
  std::string broken_;  // Of the supervisor's thread.
  std::mutex mutex_;    // The main thread reads what the supervisor's wrote.
  std::optional<live::ChildEnd> refusal_;
};

// What a worker is told beyond who and where it is.
std::vector<std::string> training_words(const JobOptions& job,
                                        const server::Limits& limits,
                                        std::uint64_t evaluate_every) {
  std::vector<std::string> words{"--topology=" + job.topology,
                                 "--workers=" + std::to_string(job.workers),
                                 "--optimizer=" + job.optimizer,
                                 fmt::format("--lr={}", rate_in_force(job)),
                                 "--schedule=" + job.schedule,
                                 fmt::format("--weight-decay={}", job.weight_decay),
                                 fmt::format("--clip-norm={}", job.clip_norm),
                                 "--batch=" + std::to_string(job.batch),
                                 "--sampling=" + job.sampling,
                                 "--updates=" + std::to_string(limits.updates),
                                 "--iterations=" + std::to_string(limits.iterations),
                                 "--epochs=" + std::to_string(limits.epochs),
                                 "--seconds=" + job.seconds,
                                 "--evaluate-every=" + std::to_string(evaluate_every),
                                 "--patience=" + job.patience};
  if (without_server(job) == collective::Topology::kRing) {
    words.push_back("--lr-scale=" + job.rate_scale);
    words.push_back("--bucket-kib=" + std::to_string(job.bucket_kib));
  }
  if (!job.peer_interface.empty()) {
    words.push_back("--peer-interface=" + job.peer_interface);
  }
  if (!job.weights.empty()) {
    words.push_back("--weights=" + std::filesystem::absolute(job.weights).string());
  }
  return words;
}

std::vector<live::ChildSpec> children_without_server(const JobOptions& job,
                                                     const WorkOptions& work,
                                                     const std::vector<std::string>& training,
                                                     const JobPlace& place,
                                                     const std::filesystem::path& logs) {
  std::filesystem::create_directories(logs);
  std::vector<live::ChildSpec> children;
  children.reserve(job.workers + 1);
  std::vector<std::string> shared = role_words("peer", place, work);
  shared.insert(shared.end(), training.begin(), training.end());
  add_delay_words(work, shared);
  for (std::uint32_t worker = 0; worker < job.workers; ++worker) {
    std::vector<std::string> words = shared;
    words.push_back("--worker=" + std::to_string(worker));
    children.push_back({.name = "worker " + std::to_string(worker),
                        .command = [words](std::uint32_t /*start*/) { return words; },
                        .prefix = prefix_words(work.prefix, worker),
                        .log = (logs / fmt::format("worker-{}.log", worker)).string()});
  }
  if (!work.paced.empty()) {
    return children;  // There is nothing to evaluate.
  }
  std::vector<std::string> evaluator = role_words("evaluator", place, work);
  children.push_back({.name = "the evaluator",
                      .command = [evaluator](std::uint32_t /*start*/) { return evaluator; },
                      .log = (logs / "evaluator.log").string(),
                      .restarts_max = kEvaluatorRestartsMax,
                      .is_worker = false});
  return children;
}

collective::HostOptions host_options(const JobOptions& job,
                                     const live::ServerOptions& checked,
                                     bool learns) {
  return {.topology = without_server(job),
          .workers = job.workers,
          .seed = job.seed,
          .with_replacement = checked.coordinator.with_replacement,
          .limits = checked.coordinator.limits,
          .evaluate_every = learns ? job.evaluate_every : kNever,
          .target = checked.target,
          .expects_evaluator = learns,
          .heartbeat_timeout = checked.coordinator.heartbeat_timeout,
          .patience = checked.coordinator.patience};
}

}  // namespace

int train_without_server(const JobOptions& job,
                         const WorkOptions& work,
                         const std::string& resolved) {
  const live::ServerOptions checked = to_server_options(job);
  collective::HostOptions options = host_options(job, checked, work.paced.empty());
  live::block_supervised_signals();
  const ScratchDirectory scratch;
  options.listen = "unix:" + scratch.file("host.sock");
  options.token = live::token_of_server(scratch.file("token"));
  std::vector<std::string> training = training_words(job, options.limits, options.evaluate_every);
  training.push_back("--rendezvous=" + scratch.file("rendezvous"));
  RunRecorder recorder(job, resolved);
  collective::Host host(std::move(options), recorder.host_watch());
  Watchman watchman(host, recorder);
  collective::HostResult found;
  {
    live::Supervisor supervisor(
        children_without_server(
            job,
            work,
            training,
            {.server = host.address(), .token_file = scratch.file("token"), .seed = job.seed},
            recorder.directory().path() / "logs"),
        watchman.events());
    found = host.run();
    supervisor.reap(std::chrono::seconds(found.code == ExitCode::kDone ? 3 : 0));
  }
  if (const auto refusal = watchman.refusal();
      refusal && found.code != ExitCode::kDone && found.statistics.updates == 0) {
    recorder.discard();
    throw Error(ExitCode{refusal->code}, refusal->last_line);
  }
  const record::Summary summary = recorder.finish({.code = found.code,
                                                   .why = found.why,
                                                   .statistics = std::move(found.statistics),
                                                   .evaluations = std::move(found.evaluations),
                                                   .reached_target = found.reached_target,
                                                   .manifest = std::move(found.manifest),
                                                   .weights = std::move(found.weights)},
                                                  work.network,
                                                  work.data,
                                                  found.worst_replica);
  print_result(summary, recorder, job.json);
  if (found.code != ExitCode::kDone) {
    throw Error(found.code, found.why);
  }
  return 0;
}

}  // namespace outpace::cli

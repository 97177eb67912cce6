#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "cli/child_words.h"
#include "cli/collective_run.h"
#include "cli/commands.h"
#include "cli/launcher_option.h"
#include "cli/options.h"
#include "cli/roles.h"
#include "cli/run_recorder.h"
#include "cli/scratch_directory.h"
#include "cli/topology.h"
#include "launch/train_part.h"
#include "learn/dataset.h"
#include "learn/network.h"
#include "live/supervisor.h"
#include "live/token_file.h"

namespace outpace::cli {
namespace {

constexpr std::uint32_t kRestartsMax = 1000;

struct TrainOptions {
  JobOptions job;
  WorkOptions work;
  bool restart_workers = false;
  std::string token_file;  // Of processes that a launcher starts.
  std::string launcher = launch::kAnyLauncher;
};

live::ChildSpec worker_child(const TrainOptions& options,
                             std::uint32_t worker,
                             const std::vector<std::string>& common,
                             const std::string& log) {
  std::vector<std::string> words = common;
  words.push_back("--worker=" + std::to_string(worker));
  words.push_back("--workers=" + std::to_string(options.job.workers));
  add_delay_words(options.work, words);
  for (const std::string& attack : options.work.attacks) {
    words.push_back("--attack=" + attack);
  }
  return {.name = "worker " + std::to_string(worker),
          .command =
              [words](std::uint32_t start) {
                std::vector<std::string> command = words;
                command.push_back("--incarnation=" +
                                  std::to_string(launch::incarnation_of_start(start)));
                return command;
              },
          .prefix = prefix_words(options.work.prefix, worker),
          .log = log,
          .restarts_max = options.restart_workers ? kRestartsMax : 0,
          .is_worker = true};
}

// What the supervisor's thread tells the run; the first failure of a process is kept, because it
// says more than "too few workers".
class Liaison {
 public:
  // `all_workers_are_children`: when those have ended, nobody will join.
  Liaison(live::Server& server, RunRecorder& recorder, bool all_workers_are_children)
      : server_(server), recorder_(recorder), all_workers_are_children_(all_workers_are_children) {}

  live::SupervisorEvents events() {
    return {
        .ended = [this](const live::ChildEnd& end) { ended(end); },
        .workers_all_ended =
            [this] {
              if (all_workers_are_children_) {
                server_.nobody_will_join();
              }
            },
        .interrupted = [this](int signal) { server_.stop(ExitCode{128 + signal}, "interrupted"); }};
  }

  [[nodiscard]] std::optional<live::ChildEnd> first_refusal() {
    const std::lock_guard lock(mutex_);
    return first_refusal_;
  }

 private:
  void ended(const live::ChildEnd& end) {
    if (end.code == 0) {
      return;
    }
    std::string what = end.code > 128 ? "was ended by signal " + std::to_string(end.code - 128)
                                      : "exited with " + std::to_string(end.code);
    if (end.code < 128 && !end.last_line.empty()) {
      what += ": " + without_prefix(end.last_line);
    }
    const bool refused = end.code >= 2 && end.code <= 6;  // It would fail again, as all others.
    if (refused) {
      const std::lock_guard lock(mutex_);
      if (!first_refusal_) {
        first_refusal_ = end;
        first_refusal_->last_line = without_prefix(end.last_line);
      }
    } else {
      recorder_.say(end.name + " " + what + (end.restarted ? "; starting it again" : ""));
    }
    if (refused || (!end.is_worker && !end.restarted)) {
      server_.stop(refused ? ExitCode{end.code} : ExitCode::kFailure, end.name + " " + what);
    }
  }

  live::Server& server_;
  RunRecorder& recorder_;
  const bool all_workers_are_children_;
  std::mutex mutex_;  // The main thread reads what the supervisor's wrote.
  std::optional<live::ChildEnd> first_refusal_;
};

// The first `workers` workers, and the evaluator unless they only wait.
std::vector<live::ChildSpec> children_of(const TrainOptions& options,
                                         std::uint32_t workers,
                                         const std::string& server,
                                         const std::string& token_file,
                                         const std::filesystem::path& run) {
  std::filesystem::create_directories(run / "logs");
  const auto log = [&run](const std::string& name) { return (run / "logs" / name).string(); };
  std::vector<live::ChildSpec> children;
  const JobPlace place{.server = server, .token_file = token_file, .seed = options.job.seed};
  const std::vector<std::string> common = role_words("worker", place, options.work);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    children.push_back(
        worker_child(options, worker, common, log("worker-" + std::to_string(worker) + ".log")));
  }
  if (!options.work.paced.empty()) {
    return children;  // There is nothing to evaluate.
  }
  const std::vector<std::string> evaluator = role_words("evaluator", place, options.work);
  children.push_back({.name = "the evaluator",
                      .command = [evaluator](std::uint32_t) { return evaluator; },
                      .log = log("evaluator.log"),
                      .restarts_max = kEvaluatorRestartsMax,
                      .is_worker = false});
  return children;
}

// What the options say to the server, if there is nothing wrong with any of them.
live::ServerOptions checked(const TrainOptions& options) {
  live::ServerOptions server_options = to_server_options(options.job);
  check_work_options(options.work, options.job.workers);
  if (!options.work.paced.empty()) {
    if (options.job.target_accuracy) {
      throw usage_error(
          "--target-accuracy beside --paced: workers that wait learn nothing; leave one out");
    }
    (void)make_source(options.work, 0, options.job.workers, options.job.seed);
    return server_options;
  }
  (void)learn::network_manifest(Spec::parse(options.work.network),
                                learn::dataset_shape(Spec::parse(options.work.data)));
  return server_options;
}

// What another process than the first of a launch does.
int work_for_first(const TrainOptions& options, const launch::TrainPart& part) {
  (void)checked(options);
  RoleOptions role{.work = options.work,
                   .server = part.address,
                   .token_file = options.token_file,
                   .token_may_come = true,
                   .worker = part.place.rank,
                   .workers = part.workers,
                   .incarnation = launch::incarnation_of_start(part.place.restarts),
                   .seed = options.job.seed,
                   .deadline = options.job.patience};
  std::fprintf(stderr,
               "outpace: %s; server %s\n",
               launch::worker_in_words(part.place, part.workers).c_str(),
               part.address.c_str());
  return work(std::move(role));
}

// The server, its evaluator and its workers: all, or worker 0 alone if a launcher started the rest.
int train(const TrainOptions& options,
          const std::optional<launch::TrainPart>& part,
          const std::string& resolved) {
  live::ServerOptions server_options = checked(options);
  live::block_supervised_signals();
  const ScratchDirectory scratch;
  if (server_options.listen.empty()) {
    server_options.listen = "unix:" + scratch.file("server.sock");
  }
  const std::string token_file = part ? options.token_file : scratch.file("token");
  server_options.token = live::token_of_server(token_file);
  server_options.expects_evaluator = options.work.paced.empty();
  RunRecorder recorder(options.job, resolved);
  live::Server server(std::move(server_options), recorder.watch());
  recorder.reachable(server.address(), token_file);
  const std::uint32_t children = part ? 1 : options.job.workers;
  if (part) {
    recorder.say(launch::worker_in_words(part->place, part->workers) + ", and the server, at " +
                 server.address());
  }
  Liaison liaison(server, recorder, children == options.job.workers);
  live::RunResult result;
  {
    live::Supervisor supervisor(
        children_of(options, children, server.address(), token_file, recorder.directory().path()),
        liaison.events());
    result = server.run();
    supervisor.reap(std::chrono::seconds(3));
  }
  if (const auto refusal = liaison.first_refusal();
      refusal && result.code != ExitCode::kDone && result.statistics.updates == 0) {
    recorder.discard();
    throw Error(ExitCode{refusal->code}, refusal->last_line);
  }
  const record::Summary summary = recorder.finish(result, options.work.network, options.work.data);
  print_result(summary, recorder, options.job.json);
  if (result.code != ExitCode::kDone) {
    throw Error(result.code, result.why);
  }
  return 0;
}

void add_options(CLI::App& command, TrainOptions& options) {
  add_job_options(command, options.job);
  add_topology_options(command, options.job);
  add_work_options(command, options.work);
  command.add_option("--worker-prefix",
                     options.work.prefix,
                     "Words before each worker's command, {worker} its number: "
                     "'taskset -c {worker}' pins them");
  command.add_flag("--restart-workers",
                   options.restart_workers,
                   "Start a worker again that crashed or was killed");
  command.add_option("--token-file",
                     options.token_file,
                     "Behind a launcher (torchrun, srun, mpirun, ...), which starts every worker: "
                     "the run's secret, mode 0600; made if it is not there");
  add_launcher_option(command, options.launcher);
}

// This process's part in a launch, if there is one; the options then say what the launch says.
std::optional<launch::TrainPart> join_launch(CLI::App& command,
                                             TrainOptions& options,
                                             Origins& origins) {
  CLI::Option* workers = command.get_option("--workers");
  const bool given = workers->count() > 0;
  auto part = launch::find_train_part(
      environment_variables(),
      {.launcher = options.launcher,
       .token_file = options.token_file,
       .listen = options.job.listen,
       .workers = given ? std::optional(options.job.workers) : std::nullopt});
  if (part) {
    options.job.workers = part->workers;
    options.job.listen = part->address;
    if (!given) {
      workers->default_str(std::to_string(part->workers));
      origins["workers"] = part->place.title;
    }
  }
  return part;
}

}  // namespace

void check_train(const std::vector<std::string>& words) {
  CLI::App command;
  TrainOptions options;
  add_options(command, options);
  parse_words(command, words);
  fit_topology(command, options.job);
  (void)checked(options);
}

Run add_train(CLI::App& command) {
  auto options = std::make_shared<TrainOptions>();
  add_options(command, *options);
  return [options, &command](const CLI::App& chosen, const Origins& given) {
    Origins origins = given;
    fit_topology(chosen, options->job);
    const auto part = join_launch(command, *options, origins);
    if (options->job.topology != kServerTopology) {
      (void)checked(*options);
      return train_without_server(options->job, options->work, resolved_toml(chosen, origins));
    }
    return part && part->place.rank > 0 ? work_for_first(*options, *part)
                                        : train(*options, part, resolved_toml(chosen, origins));
  };
}

}  // namespace outpace::cli

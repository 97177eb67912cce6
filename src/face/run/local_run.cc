// Tested by test/program/result_test.py (class Train).

#include "run/local_run.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <unistd.h>

#include "live/token_file.h"
#include "run/echo.h"
#include "run/failures.h"
#include "run/job_keys.h"
#include "run/open_files.h"
#include "run/resume.h"
#include "run/scratch_directory.h"
#include "run/server_run.h"
#include "run/side_writer.h"
#include "run/tls.h"

namespace outpace::run {
namespace {

// What the server's callbacks tell the other threads.
struct Course {
  std::atomic<bool> begun{false};
  std::atomic<bool> evaluated{false};     // Since it was asked last.
  std::function<void()> start_evaluator;  // Set before the server runs, as is the next.
  std::function<void(bool done)> run_ends;
};

live::ServerCallbacks callbacks_of(RunRecorder& recorder, Course& course) {
  live::ServerCallbacks callbacks = recorder.watch();
  callbacks.evaluated = [&course, then = callbacks.evaluated](const server::Evaluation& found) {
    course.evaluated = true;
    then(found);
  };
  callbacks.begins = [&course, then = callbacks.begins](const protocol::Manifest& manifest) {
    course.begun = true;
    then(manifest);
  };
  callbacks.wants_evaluator = [&course] { course.start_evaluator(); };
  callbacks.finishes = [&course](const server::Finish& finish) {
    course.run_ends(finish.code == ExitCode::kDone);
  };
  return callbacks;
}

// What people see of a script's processes: their output, and how they failed.
class ScriptOutput {
 public:
  explicit ScriptOutput(RunRecorder& recorder)
      : recorder_(recorder),
        echo_([&recorder](const std::string& line) { recorder.pass_on(line); },
              [&recorder] { return recorder.terminal_has_room(); }) {}

  void watch(const std::vector<live::ChildSpec>& children, job::ShowOutput show) {
    using enum job::ShowOutput;
    bool first = true;
    for (const live::ChildSpec& child : children) {
      if (show == kAll || (show == kFirst && (first || !child.is_worker))) {
        echo_.follow(child.output, child.name);
      }
      first = false;
      logs_[child.name] = child.log;
    }
  }
  void look() {
    using std::chrono::steady_clock;
    constexpr auto kSoon = std::chrono::seconds(5);
    echo_.look();
    if (!over_) {
      return;
    }
    over_since_ = over_since_.value_or(steady_clock::now());
    if (!said_it_waits_ && steady_clock::now() - *over_since_ >= kSoon) {
      said_it_waits_ = true;
      recorder_.say("the run is over, and the script goes on; Ctrl-C ends it");
    }
  }
  // From any thread: what the processes do from now on is no part of the run.
  void run_ends(bool done) {
    done_ = done;
    ends_ = true;
  }
  // From any thread: nothing is waited for any more but the processes.
  void run_is_over() { over_ = true; }
  // After finish(): how the first worker failed when the run was done.
  [[nodiscard]] const std::optional<live::ChildEnd>& failed_after() const { return failed_after_; }
  // How the first one failed; empty: none did.
  [[nodiscard]] const std::optional<live::ChildEnd>& first_failure() const {
    return first_failure_;
  }
  void failed(const live::ChildEnd& end, const std::string& again) {
    echo_.look();
    if (ends_ && !done_) {
      return;  // It is told why the run ended.
    }
    any_failed_ = true;
    first_failure_ = first_failure_ ? first_failure_ : end;
    failed_after_ = done_ && !failed_after_ ? end : failed_after_;
    const std::vector<std::string> lines = failures_.failed(end, again, logs_[end.name]);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      i == 0 ? recorder_.say(lines[i]) : recorder_.pass_on(lines[i]);
    }
  }
  // After the children have ended.
  void finish(const live::RunResult& result) {
    echo_.finish([this] { return recorder_.wait_for_terminal(); });
    for (const std::string& line : failures_.folded()) {
      recorder_.say(line);
    }
    const bool nothing_came =
        result.code == ExitCode::kTooFewWorkers && result.statistics.updates == 0;
    if (nothing_came && !any_failed_) {
      recorder_.say(
          "the command ended without an error and did not join the run: it joins by the Python "
          "package outpace, or by include/outpace/worker.h");
    }
  }

 private:
  RunRecorder& recorder_;
  Echo echo_;
  Failures failures_;
  std::map<std::string, std::string> logs_;  // By the child's name.
  bool any_failed_ = false;
  std::optional<live::ChildEnd> first_failure_;
  std::optional<live::ChildEnd> failed_after_;
  std::atomic<bool> done_{false};
  std::atomic<bool> ends_{false};
  std::atomic<bool> over_{false};
  std::optional<std::chrono::steady_clock::time_point> over_since_;
  bool said_it_waits_ = false;
};

RecordedJob recorded(const LocalJob& job, const ServedRun& run) {
  return {.training = job.training,
          .output = job.output,
          .topology = job::Topology::kServer,
          .name = job.name,
          .network = job.network,
          .data = job.data,
          .checkpoints = job.checkpoints,
          .head = head_of(run.options),
          .resumed = run.resumed,
          .page = page_of(job.output, job.serving, job.token_file),
          .delayed = job.delayed};
}

ServedRun local_run(const LocalJob& job, const std::optional<JobKeys>& keys) {
  job::Training training = job.training;
  if (keys) {
    make_room_for_joiners(training);
  }
  ServedRun run = served_run(training, job.membership, job.serving, job.checkpoints);
  live::ServerOptions& options = run.options;
  options.coordinator.resume_patience =
      job.membership.patience_to_begin();  // All workers are its children.
  if (keys) {
    keys->give_to(options, job.training.workers, job.seats);
  } else {
    options.tls = tls_of(job.serving, job.token_file, wire::TlsSide::kServer);
  }
  options.needs_evaluator = !needs_evaluator(job.training).empty();
  options.expects_evaluator = job.expects_evaluator;
  if (job.script) {
    options.starts_evaluator = job.may_be_evaluated;
    options.expects_evaluator = options.needs_evaluator;
    options.script = script_terms(job.training);
  }
  return run;
}

ChildWatchOptions watch_options(const LocalJob& job,
                                bool others_come,
                                live::Server& server,
                                RunRecorder& recorder) {
  const bool all_workers_are_children = !others_come;
  return {.needs_evaluator = needs_evaluator(job.training),
          .end_run = [&server](ExitCode code, const std::string& why) { server.stop(code, why); },
          .workers_all_ended =
              [&server, all_workers_are_children](const std::string& /*why*/) {
                if (all_workers_are_children) {
                  server.nobody_will_ask();
                  server.nobody_will_join();
                }
              },
          .say = [&recorder](const std::string& line) { recorder.say(line); }};
}

// How the processes of a script are watched differently.
void watch_script(ChildWatchOptions& options,
                  ScriptOutput& output,
                  live::Server& server,
                  const Course& course) {
  options.worker_failed = [&output](const live::ChildEnd& end, const std::string& again) {
    output.failed(end, again);
  };
  // Later on a program's code may mean anything.
  options.refusals_count = [&course] { return !course.begun; };
  options.evaluator_failed = [&server] { server.evaluator_failed(); };
  options.looked = [&output] { output.look(); };
}

}  // namespace

checkpoint::Head head_of(const live::ServerOptions& options) {
  return {.job = options.coordinator.job,
          .generation = options.coordinator.generation,
          .version = {},
          .policy = options.policy.text,
          .program = "outpace " OUTPACE_VERSION};
}

ServedRun served_run(const job::Training& training,
                     const job::Membership& membership,
                     job::Serving serving,
                     const job::Checkpoints& checkpoints) {
  allow_open_files(training.workers);
  std::optional<checkpoint::Checkpoint> found;
  if (!checkpoints.resume.empty()) {
    found =
        read_to_resume(checkpoints.resume, checkpoints.begin_again, [](const std::string& line) {
          (void)print(STDERR_FILENO, "outpace: " + line + "\n");
        });
  }
  if (found) {
    serving.weights.clear();  // The checkpoint has others.
  }
  ServedRun run{.options = to_server_options(job::without_script(training), membership, serving)};
  live::ServerOptions& options = run.options;
  options.coordinator.checkpoint_every = checkpoints.every;
  options.begins_again = !checkpoints.resume.empty() && !found;
  if (found) {
    options.coordinator.resume_patience = membership.heartbeat_timeout;
    options.coordinator.job = found->head.job;
    options.coordinator.generation = found->head.generation;
    run.resumed = resumed_of(*found);
    options.resumed = std::make_shared<checkpoint::StateReader>(std::move(found->state));
  }
  return run;
}

live::ScriptTerms script_terms(const job::Training& training) {
  return {.conflict = job::conflicts_with_script(training), .epochs = job::script_ends(training)};
}

namespace {

// The script's own exit code is the run's if all of its workers have ended and one of them failed,
// or if time went by without an update.
void blame_script(const ScriptOutput& output, live::RunResult& result) {
  const auto& failure = output.first_failure();
  if (!failure) {
    return;
  }
  if (result.code == ExitCode::kDone && result.statistics.updates == 0) {
    result.code = ExitCode{failure->code};
    result.why = "the script failed before the first update: " + in_words(*failure);
  } else if (result.code == ExitCode::kTooFewWorkers && failure->code <= 128) {
    result.code = ExitCode{failure->code};
    // Its last lines have been shown.
    result.why =
        "the script failed: " + failure->name + " exited with " + std::to_string(failure->code);
  }
}

}  // namespace

namespace {

void choose_addresses(live::ServerOptions& options,
                      const std::optional<launch::TrainPart>& part,
                      bool own_keys,
                      const ScratchDirectory& scratch) {
  if (own_keys) {
    options.listen_beyond = options.listen;  // The workers of this machine need no network.
  }
  if (options.listen.empty() || own_keys) {
    options.listen = "unix:" + scratch.file("server.sock");
  }
  // Not unencrypted: nobody named the other networks of this machine.
  if (part && launch::may_listen_everywhere(*part) && options.tls.any()) {
    options.reach = wire::Reach::kEverywhere;
  }
}

// Tells where the server is, and how machines join.
void tell_where(RunRecorder& recorder,
                const live::Server& server,
                const LocalJob& job,
                std::optional<JobKeys>& keys) {
  if (keys) {
    keys->settle(recorder.directory(),
                 keys->own() ? server.beyond() : server.address(),
                 job.serving.advertise);
    recorder.say(keys->how_to_join(job.joined_by));
  }
}

}  // namespace

RunEnd run_here(const LocalJob& job,
                const std::optional<launch::TrainPart>& part,
                const std::string& resolved,
                const ChildrenOf& children_of) {
  const ScratchDirectory scratch;
  // Under a launcher all processes have the token.
  std::optional<JobKeys> keys =
      part ? std::nullopt
           : JobKeys::find(job.serving, job.token_file, job.checkpoints.resume, scratch.path());
  ServedRun run = local_run(job, keys);
  live::ServerOptions& options = run.options;
  live::block_supervised_signals();
  const bool own_keys = keys && keys->own();
  choose_addresses(options, part, own_keys, scratch);
  const bool everywhere = options.reach == wire::Reach::kEverywhere;
  const std::string token_file = part       ? job.token_file
                                 : own_keys ? keys->token_file()
                                            : scratch.file("token");
  options.token = live::token_of_server(token_file);
  const RecordedJob record = recorded(job, run);
  live::Server server(std::move(options), {});
  // After it listens: a server that cannot leaves no record in the way of the next try.
  RunRecorder recorder(record, resolved);
  recorder.reachable(server.address(), token_file);
  tell_where(recorder, server, job, keys);
  if (part) {
    recorder.say(launch::worker_in_words(part->place, part->workers) + ", and the server, at " +
                 server.address() + (everywhere ? ", on all addresses of this machine" : ""));
  }
  Course course;
  server.watch(callbacks_of(recorder, course));
  ScriptOutput output(recorder);
  ChildWatchOptions watched =
      watch_options(job, (part && job.training.workers > 1) || keys.has_value(), server, recorder);
  watched.ends_at_once = [&scratch] { scratch.remove(); };
  if (job.script) {
    watch_script(watched, output, server, course);
  }
  ChildWatch watch(std::move(watched));
  std::vector<live::ChildSpec> children =
      children_of(part ? 1 : job.training.workers,
                  {.server = server.address(),
                   .token_file = token_file,
                   .tls = job.serving.tls,
                   .insecure_no_tls = job.serving.insecure_no_tls},
                  {.logs = recorder.make_log_directory(), .resolved = scratch.path()},
                  [&course] { return course.evaluated.exchange(false); });
  if (job.script) {
    output.watch(children, *job.script);
  }
  live::Supervisor supervisor(std::move(children), watch.events());
  course.run_ends = [&output](bool done) { output.run_ends(done); };
  course.start_evaluator = [&supervisor] { supervisor.start_waiting(); };
  live::RunResult result = server.run();
  output.run_is_over();
  // A script may save and report after its last mini-batch, for as long as that takes.
  const bool may_go_on = job.script && result.code == ExitCode::kDone;
  supervisor.reap(may_go_on ? std::chrono::hours(24) : std::chrono::seconds(3));
  if (job.script) {
    output.finish(result);
  }
  if (const auto refusal = watch.refusal();
      refusal && result.code != ExitCode::kDone && result.statistics.updates == 0) {
    recorder.discard();
    throw *refusal;
  }
  blame_script(output, result);
  RunEnd end = recorder.finish(result);
  if (end.code == ExitCode::kDone && output.failed_after()) {
    end.code = ExitCode{output.failed_after()->code};
    end.why = "the run is done, and the script failed after it";
  }
  return end;
}

}  // namespace outpace::run

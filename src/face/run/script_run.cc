// Tested by test/program/run_script_test.py (class Run).

#include "run/script_run.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "job/value_text.h"
#include "live/server.h"
#include "live/token_file.h"
#include "policy/catalogue.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/local_run.h"
#include "run/server_run.h"
#include "run/user_command.h"
#include "run/whole_file.h"
#include "wire/kept_memory.h"

namespace outpace::run {
namespace {

using Words = std::vector<std::string>;

void check_command(const job::RunJob& job) {
  if (job.command.empty()) {
    throw usage_error(
        "run: the command is missing: outpace run --workers 8 -- python3 train.py --my-flag");
  }
  check_program("run", job.command.front());
  job::check(job, whole_file);
}

void set(Words& variables, const std::string& name, const std::string& value) {
  variables.push_back(value.empty() ? name : name + "=" + value);
}

void set_by_default(Words& variables, const std::string& name, const std::string& value) {
  if (std::getenv(name.c_str()) == nullptr) {
    set(variables, name, value);
  }
}

// How many gradients an update has if all workers are there: scripts scale their rate by it.
std::uint32_t gradients_of_update(const job::RunJob& job, std::uint32_t workers) {
  job::Training training = job.training;
  training.workers = workers;
  return seats_of(training).gradients;
}

// What include/outpace reads; `worker`: nothing of the evaluator.
Words variables_of(const job::RunJob& job,
                   const JobPlace& place,
                   std::uint32_t workers,
                   std::optional<std::uint32_t> worker) {
  Words all;
  set(all, "OUTPACE_ROLE", worker ? "worker" : "evaluator");
  set(all, "OUTPACE_SERVER", place.server);
  set(all, "OUTPACE_TOKEN_FILE", place.token_file);
  set(all, "OUTPACE_WORKER", worker ? std::to_string(*worker) : "");
  set(all, "OUTPACE_WORKERS", std::to_string(workers));
  set(all, "OUTPACE_GRADIENTS", std::to_string(gradients_of_update(job, workers)));
  set(all, "OUTPACE_BATCH", std::to_string(job.training.batch));
  const std::optional<std::uint32_t>& steps = job.training.local_steps;
  set(all, "OUTPACE_LOCAL_STEPS", steps ? std::to_string(*steps) : "");
  set(all, "OUTPACE_STEPS_AHEAD", job.steps_ahead ? "true" : "");
  set(all, "OUTPACE_TLS_CERT", place.tls.certificate);
  set(all, "OUTPACE_TLS_KEY", place.tls.key);
  set(all, "OUTPACE_TLS_CA", place.tls.ca);
  set(all, "OUTPACE_INSECURE_NO_TLS", place.insecure_no_tls ? "true" : "");
  const job::Delays& delays = job.delays;
  const bool slows = worker.has_value();
  std::string slow;
  for (const std::string& one : delays.slow) {
    slow += (slow.empty() ? "" : ";") + one;
  }
  set(all, "OUTPACE_SLOW", slows ? slow : "");
  const bool delayed = slows && !delays.file.empty();
  set(all,
      "OUTPACE_DELAYS",
      delayed ? std::filesystem::absolute(delays.file).string() : std::string());
  set(all,
      "OUTPACE_DELAYS_BY",
      delayed ? job::Value<worker::DelaysBy>::text(delays.by) : std::string());
  set(all,
      "OUTPACE_DELAYS_PERIOD",
      delayed ? job::Value<Duration>::text(delays.period) : std::string());
  set(all, "OUTPACE_PROFILE", worker ? job.passes : "");
  if (job.threads) {
    set(all, "OMP_NUM_THREADS", std::to_string(*job.threads));
  } else {
    set_by_default(all, "OMP_NUM_THREADS", "1");
  }
  set_by_default(all, "PYTHONUNBUFFERED", "1");  // A line is seen when it is printed.
  return all;
}

live::ChildSpec child_of(const job::RunJob& job, const ChildFiles& files, const std::string& file) {
  const std::filesystem::path logs(files.logs);
  return {.name = {},
          .command = [words = job.command](std::uint32_t /*start*/) { return words; },
          .log = (logs / (file + ".log")).string(),
          .output = (logs / (file + ".out")).string(),
          .is_users = true};
}

std::vector<live::ChildSpec> children_of(const job::RunJob& job,
                                         std::uint32_t workers,
                                         const JobPlace& place,
                                         const ChildFiles& files,
                                         const std::function<bool()>& evaluated) {
  std::vector<live::ChildSpec> children;
  const auto variables = [&](std::optional<std::uint32_t> worker) {
    Words all = variables_of(job, place, job.training.workers, worker);
    set(all, "OUTPACE_REJOIN_FOR", job::Value<Duration>::text(kRejoinFor));
    return all;
  };
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    live::ChildSpec child = child_of(job, files, fmt::format("worker-{}", worker));
    child.name = fmt::format("worker {}", worker);
    child.prefix = prefix_words(job.worker_prefix, worker);
    child.restarts_max = job.restart_workers ? kWorkerRestartsMax : 0;
    child.variables = variables(worker);
    set(child.variables, "OUTPACE_KEEP_STATE", job.keep_worker_state ? workers_folder(files) : "");
    children.push_back(std::move(child));
  }
  if (!job.passes.empty()) {
    return children;
  }
  live::ChildSpec evaluator = child_of(job, files, "evaluator");
  evaluator.name = "the evaluator";
  evaluator.restarts_max = live::kRestartsWithoutEnd;
  evaluator.is_worker = false;
  evaluator.prefix = {"nice", "-n", "5"};  // What is left of the machine is enough.
  evaluator.did_well = evaluated;
  evaluator.variables = variables(std::nullopt);
  evaluator.waits_for_start = needs_evaluator(job.training).empty();
  children.push_back(std::move(evaluator));
  return children;
}

// What machines that join by a code are told.
protocol::Seats joined_seats(const job::RunJob& job) {
  protocol::Seats seats = seats_of(job.training);
  seats.steps_ahead = job.steps_ahead;
  return seats;
}

}  // namespace

RunEnd run_script(const job::RunJob& job,
                  const std::optional<launch::TrainPart>& part,
                  const std::string& resolved) {
  wire::keep_freed_memory();
  check_command(job);
  const LocalJob local{.training = job.training,
                       .membership = job.membership,
                       .serving = job.serving,
                       .checkpoints = job.checkpoints,
                       .output = job.output,
                       .name = job.training.policy.text,
                       .network = "the script's",
                       .data = "the script's",
                       .token_file = job.token_file,
                       .delayed = !job.delays.file.empty() || !job.delays.slow.empty(),
                       .script = job.show_output,
                       .may_be_evaluated = job.passes.empty(),
                       .seats = joined_seats(job),
                       .joined_by = quoted(job.command)};
  return run_here(local,
                  part,
                  resolved,
                  [&job](std::uint32_t workers,
                         const JobPlace& place,
                         const ChildFiles& files,
                         const std::function<bool()>& evaluated) {
                    return children_of(job, workers, place, files, evaluated);
                  });
}

void become_worker(const job::RunJob& job, const launch::TrainPart& part) {
  check_command(job);
  if (job.keep_worker_state) {
    throw usage_error(
        "run: --keep-worker-state under a launcher: the run's directory may be on another machine; "
        "remove it, and write -- env OUTPACE_KEEP_STATE=FOLDER before the command's words");
  }
  // The first process makes it.
  (void)live::await_token_file(job.token_file, job.membership.patience_to_begin());
  Words variables = variables_of(job,
                                 {.server = part.address,
                                  .token_file = job.token_file,
                                  .tls = job.serving.tls,
                                  .insecure_no_tls = job.serving.insecure_no_tls},
                                 part.workers,
                                 part.place.rank);
  set(variables, "OUTPACE_REJOIN_FOR", job::Value<Duration>::text(job.rejoin_for));
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) {
      unsetenv(variable.c_str());
    } else {
      setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
    }
  }
  Words words = prefix_words(job.worker_prefix, part.place.rank);
  words.insert(words.end(), job.command.begin(), job.command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) {
    static_cast<void>(
        std::signal(ignored, SIG_DFL));  // What main() ignores for this program alone.
  }
  execvp(arguments.front(), arguments.data());
  throw Error(ExitCode::kFailure, "run: " + words.front() + " cannot be run");
}

}  // namespace outpace::run

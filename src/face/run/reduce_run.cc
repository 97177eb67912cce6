// Tested by test/program/two_levels_test.py.

#include "run/reduce_run.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "live/control.h"
#include "live/server.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/local_run.h"
#include "run/scratch_directory.h"
#include "run/terminal.h"
#include "run/tls.h"
#include "wire/kept_memory.h"

namespace outpace::run {
namespace {

live::WorkerOptions above(const job::ReduceJob& job) {
  const std::string token = live::read_token_file(job.token_file);
  return {
      .session = {.server = job.server,
                  .token = token,
                  .tls = tls_to(job.server, job.tls, job.token_file, token, job.insecure_no_tls),
                  .worker = WorkerId{job.worker},
                  .deadline = job.reaching.deadline,
                  .keep_alive = job.reaching.keep_alive,
                  .connections = job.reaching.connections,
                  .compress = job.compress
                                  ? std::optional(compress::Compression::parse(job.compress->text))
                                  : std::nullopt},
      .rejoin_for = job.reaching.rejoin_for};
}

std::vector<std::string> variables(const job::ReduceJob& job,
                                   const std::string& server,
                                   std::uint32_t worker) {
  std::vector<std::string> all{
      "OUTPACE_ROLE=worker",
      "OUTPACE_SERVER=" + server,
      "OUTPACE_TOKEN_FILE=" + std::filesystem::absolute(job.token_file).string(),
      "OUTPACE_WORKER=" + std::to_string(worker),
      "OUTPACE_REJOIN_FOR=" + job::Value<Duration>::text(kRejoinFor)};
  for (const char* with_default : {"OMP_NUM_THREADS", "PYTHONUNBUFFERED"}) {
    if (std::getenv(with_default) == nullptr) {
      all.push_back(std::string(with_default) + "=1");
    }
  }
  return all;
}

using ChildrenOf =
    std::function<std::vector<live::ChildSpec>(const std::string& server, const ChildFiles& files)>;

std::vector<live::ChildSpec> children(const job::ReduceJob& job,
                                      const std::string& server,
                                      const ChildFiles& files) {
  const std::filesystem::path logs(files.logs);
  std::vector<live::ChildSpec> all;
  for (std::uint32_t worker = 0; worker < job.workers_here && !job.command.empty(); ++worker) {
    const std::string file = fmt::format("worker-{}", worker);
    all.push_back({.name = fmt::format("worker {}", worker),
                   .command = [words = job.command](std::uint32_t /*start*/) { return words; },
                   .prefix = prefix_words(job.worker_prefix, worker),
                   .log = (logs / (file + ".log")).string(),
                   .output = (logs / (file + ".out")).string(),
                   .restarts_max = job.restart_workers ? kWorkerRestartsMax : 0,
                   .is_users = true,
                   .variables = variables(job, server, worker)});
  }
  return all;
}

// A script that ends the run wants the whole job to end.
void pass_on_end(const live::SessionOptions& session, const std::optional<std::string>& why) {
  if (!why) {
    return;
  }
  try {
    (void)live::ask({.server = session.server, .token = session.token, .tls = session.tls},
                    protocol::EndRun{.why = *why});
  } catch (const Error&) {
    // The server is gone, or its run is over already.
  }
}

RunEnd reduce(const job::ReduceJob& job,
              const std::string& resolved,
              bool starts_workers,
              const ChildrenOf& children) {
  wire::keep_freed_memory();
  check(job);
  const job::Training training = training_here(job);
  const live::WorkerOptions upstream = above(job);
  const ScratchDirectory scratch;
  job::Checkpoints none;
  none.every = {};
  ServedRun run = served_run(training, {}, {}, none);
  live::ServerOptions& options = run.options;
  options.script = script_terms(training);
  options.listen = job.listen.empty() ? "unix:" + scratch.file("server.sock") : job.listen;
  options.token = upstream.session.token;
  options.above = upstream;
  live::block_supervised_signals();
  RecordedJob record{.training = training,
                     .output = job.output,
                     .topology = job::Topology::kServer,
                     .name = training.policy.text,
                     .network = "the workers'",
                     .data = "the workers'",
                     .checkpoints = none,
                     .head = head_of(options),
                     .page = page_of(job.output, {}, job.token_file),
                     .delayed = true};  // The workers' delays are not known here.
  std::optional<live::RunResult> result;
  std::optional<RunRecorder> recorder;
  {
    live::Server server(std::move(options), {});
    recorder.emplace(std::move(record), resolved);
    server.watch(recorder->watch());
    recorder->reachable(server.address(), job.token_file);
    recorder->say(fmt::format("worker {} of {}, for {} workers at {}",
                              job.worker,
                              job.server,
                              job.workers_here,
                              server.address()));
    ChildWatch watch(
        {.end_run = [&](ExitCode code, const std::string& why) { server.stop(code, why); },
         .workers_all_ended =
             [&](const std::string& /*why*/) {
               if (starts_workers) {
                 server.nobody_will_join();
               }
             },
         .say = [&](const std::string& line) { recorder->say(line); },
         .ends_at_once = [&scratch] { scratch.remove(); }});
    live::Supervisor supervisor(
        children(server.address(),
                 {.logs = recorder->make_log_directory(), .resolved = scratch.path()}),
        watch.events());
    result = server.run();
    supervisor.reap(std::chrono::seconds(3));
  }
  pass_on_end(upstream.session, result->ended_by_script);
  return recorder->finish(*result);
}

}  // namespace

RunEnd reduce(const job::ReduceJob& job, const std::string& resolved) {
  return reduce(
      job, resolved, !job.command.empty(), [&](const std::string& server, const ChildFiles& files) {
        return children(job, server, files);
      });
}

RunEnd reduce_workers(const job::WorkerJob& given,
                      const WorkerOptions& options,
                      const std::string& resolved) {
  Terminal terminal;
  WorkerOptions told = options;
  const job::WorkerJob job = placed(given, told, terminal);
  if (told.token_may_come) {
    (void)live::await_token_file(job.token_file, job.reaching.deadline);
  }
  const job::TrainJob here{.training = {.workers = job.reduce_here, .seed = job.seed},
                           .work = job.work};
  return reduce(reduce_job_of(job),
                resolved,
                /*starts_workers=*/true,
                [&](const std::string& server, const ChildFiles& files) {
                  return worker_children(
                      here,
                      job.reduce_here,
                      {.server = server, .token_file = job.token_file, .tls = {}},
                      files);
                });
}

}  // namespace outpace::run

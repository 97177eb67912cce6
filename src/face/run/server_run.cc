// Tested by test/program/result_test.py (class Train).

#include "run/server_run.h"

#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "policy/switch_spec.h"
#include "protocol/messages.h"
#include "record/runtime_model_file.h"
#include "record/safetensors.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/job_keys.h"
#include "run/local_run.h"
#include "run/resume.h"
#include "run/run_recorder.h"
#include "run/scratch_directory.h"
#include "run/tls.h"
#include "run/whole_file.h"
#include "run/worker_role.h"
#include "server/initial_weights.h"
#include "server/script.h"
#include "wire/kept_memory.h"

namespace outpace::run {
namespace {

std::uint64_t draw_job() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

job::ResolveOptions read_resolve_options(const job::Training& training, std::uint32_t workers_max) {
  job::check_runtime_model(training);
  job::ResolveOptions options{.workers_max = workers_max};
  if (!training.runtime_model.empty()) {
    options.fitted = std::make_shared<const runtime_model::DeepWeights>(
        record::read_runtime_model(training.runtime_model));
  }
  return options;
}

live::ServerOptions to_server_options(const job::Training& training,
                                      const job::Membership& membership,
                                      const job::Serving& serving) {
  job::Resolved resolved =
      job::resolve(training, membership, read_resolve_options(training, protocol::kWorkersMax));
  live::ServerOptions server;
  server.policy = std::move(resolved.policy);
  server.policy_inputs = std::move(resolved.policy_inputs);
  server.coordinator = resolved.coordinator;
  server.coordinator.job = draw_job();
  server.shard = std::move(resolved.shard);
  server.compress = resolved.compress;
  server.compress_weights = resolved.compress_weights;
  server.target = resolved.target;
  server.listen = serving.listen;
  if (!serving.weights.empty()) {
    record::Weights loaded = record::read_safetensors(serving.weights);
    if (const std::string why = server::why_unfit(loaded.manifest, loaded.numbers); !why.empty()) {
      throw Error(ExitCode::kUnreadable, "--weights " + serving.weights + ": " + why);
    }
    server.manifest = std::move(loaded.manifest);
    server.weights = std::move(loaded.numbers);
  }
  return server;
}

protocol::Seats seats_of(const job::Training& training) {
  job::Training plain = job::without_script(training);
  const live::ServerOptions options = to_server_options(plain, {}, {});
  return {.workers = {},
          .planned = training.workers,
          .gradients = policy::make_policy(options.policy, training.workers, options.policy_inputs)
                           ->nominal_cutoff(training.workers),
          .batch = training.batch,
          .local_steps = training.local_steps.value_or(0)};
}

void check(const job::TrainJob& job, const Learner& learner, bool has_server) {
  job::Serving serving = job.serving;
  serving.weights.clear();  // They are read once, by what begins with them.
  const live::ServerOptions server = to_server_options(job.training, job.membership, serving);
  if (!makes_keys(job.serving, job.token_file)) {
    if (has_server) {
      (void)tls_of(job.serving, job.token_file, wire::TlsSide::kServer);
    }
    // Also the server's children.
    (void)tls_of(job.serving, job.token_file, wire::TlsSide::kWorker);
  }
  job::check(job.work, job.training.workers, whole_file);
  if (!job.work.paced.empty()) {
    if (job.training.target_accuracy) {
      throw usage_error(
          "--target-accuracy conflicts with --paced: workers that wait learn nothing; remove one");
    }
    (void)make_source(job.work, 0, job.training.workers, job.training.seed, learner);
    return;
  }
  const Layout layout = learner.layout(job.work.network, job.work.data);
  if (job.topology != job::Topology::kServer && !layout.script.groups.empty()) {
    throw usage_error("--topology " + job::Value<job::Topology>::text(job.topology) +
                      " conflicts with --network " + job.work.network.text +
                      ": its running statistics are averaged by a server; remove --topology, or "
                      "take resnet8, which has none");
  }
  if (job.training.local_steps && !layout.script.groups.empty()) {
    throw usage_error("--local-steps conflicts with --network " + job.work.network.text +
                      ": its running statistics are averaged at each step; remove --local-steps, "
                      "or take resnet8, which has none");
  }
  server::check(server::with_script(server.shard, layout.script));
}

RunEnd train(const job::TrainJob& job,
             const std::optional<launch::TrainPart>& part,
             const std::string& resolved,
             const Learner& learner) {
  wire::keep_freed_memory();
  check(job, learner);
  const LocalJob local{.training = job.training,
                       .membership = job.membership,
                       .serving = job.serving,
                       .checkpoints = job.checkpoints,
                       .output = job.output,
                       .name = job::what_runs(job),
                       .network = job.work.network.text,
                       .data = job.work.data.text,
                       .token_file = job.token_file,
                       .expects_evaluator = job.work.paced.empty(),
                       .delayed = !job.work.delays.file.empty() || !job.work.delays.slow.empty() ||
                                  !job.work.paced.empty(),
                       .seats = seats_of(job.training),
                       .joined_by = "outpace worker --network " + job.work.network.text +
                                    " --data " + job.work.data.text};
  return run_here(local,
                  part,
                  resolved,
                  [&job](std::uint32_t workers,
                         const JobPlace& place,
                         const ChildFiles& files,
                         const std::function<bool()>& evaluated) {
                    std::vector<live::ChildSpec> children =
                        worker_children(job, workers, place, files);
                    if (job.work.paced.empty()) {  // Workers that only wait learn nothing.
                      children.push_back(evaluator_child(job, place, files, evaluated));
                    }
                    return children;
                  });
}

namespace {

// As the job says, or where the run's earlier server listened.
job::Serving serving_of(const job::ServerJob& job) {
  job::Serving serving = job.serving;
  if (!job.checkpoints.resume.empty()) {
    serving.listen = listen_again(job.checkpoints.resume, serving.listen);
  }
  if (serving.listen.empty()) {
    serving.listen = "127.0.0.1:0";
  }
  return serving;
}

void say_how_to_come(RunRecorder& recorder,
                     const std::string& how,
                     const std::optional<JobKeys>& keys,
                     const std::string& address,
                     bool expects_evaluator) {
  const bool own = keys && keys->own();
  recorder.say("listening on " + address + (own ? "" : "; workers: outpace worker" + how));
  if (keys) {
    recorder.say(keys->how_to_join("python3 train.py"));
  }
  if (expects_evaluator) {
    recorder.say("the run begins when there is an evaluator too: outpace evaluator" + how);
  }
}

}  // namespace

RunEnd serve(const job::ServerJob& job, const std::string& resolved) {
  wire::keep_freed_memory();
  const job::Serving serving = serving_of(job);
  const ScratchDirectory scratch;
  std::optional<JobKeys> keys =
      JobKeys::find(serving, job.token_file, job.checkpoints.resume, scratch.path());
  if (job.token_file.empty() && !(keys && keys->own())) {
    throw usage_error(
        "server: --token-file is missing: name a file for the job's secret; with --listen beyond "
        "this machine it can be left out, and machines join by a code");
  }
  job::Training training = job.training;
  if (keys) {
    make_room_for_joiners(training);
  }
  ServedRun run = served_run(training, job.membership, serving, job.checkpoints);
  live::ServerOptions& options = run.options;
  options.script = script_terms(job.training);
  if (!(keys && keys->own())) {
    options.tls = tls_of(serving, job.token_file, wire::TlsSide::kServer);
  }
  options.token = live::token_of_server(keys && keys->own() ? keys->token_file() : job.token_file);
  if (keys) {
    keys->give_to(options, 0, seats_of(job.training));
  }
  options.expects_evaluator =
      job.training.target_accuracy.has_value() || policy::waits_for_evaluator(job.training.policy);
  options.needs_evaluator = options.expects_evaluator;
  const bool expects_evaluator = options.expects_evaluator;
  live::block_supervised_signals();
  RecordedJob record{
      .training = job.training,
      .output = job.output,
      .topology = job::Topology::kServer,
      .name = job.training.policy.text,
      .network = "the workers'",
      .data = "the workers'",
      .checkpoints = job.checkpoints,
      .head = head_of(options),
      .resumed = std::move(run.resumed),
      .page =
          page_of(job.output, serving, keys && keys->own() ? keys->token_file() : job.token_file),
      .delayed = true};  // Workers may be elsewhere, so this is not known.
  live::Server server(std::move(options), {});
  RunRecorder recorder(std::move(record), resolved);
  server.watch(recorder.watch());
  if (keys) {
    keys->settle(recorder.directory(), server.address(), serving.advertise);
  }
  const std::string token_file = keys && keys->own() ? keys->token_file() : job.token_file;
  recorder.reachable(server.address(), token_file);
  const std::string how = " --server " + server.address() + " --token-file " + token_file +
                          (serving.insecure_no_tls ? " --insecure-no-tls" : "");
  say_how_to_come(recorder, how, keys, server.address(), expects_evaluator);
  ChildWatch watch(
      {.end_run = [&](ExitCode code, const std::string& why) { server.stop(code, why); },
       .workers_all_ended = [](const std::string& /*why*/) {},  // None was started here.
       .say = [&](const std::string& line) { recorder.say(line); }});
  live::Supervisor supervisor({}, watch.events());
  const live::RunResult result = server.run();
  supervisor.reap(std::chrono::seconds(0));
  if (result.code == ExitCode::kWouldBeginAnew) {
    recorder.discard();  // So that the next try does not find it in the way.
    throw Error(result.code, result.why);
  }
  return recorder.finish(result);
}

}  // namespace outpace::run

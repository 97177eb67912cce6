// Tested by test/program/topology_test.py (class Ring).

#include "run/serverless_run.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "collective/host.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/job_keys.h"
#include "run/open_files.h"
#include "run/scratch_directory.h"
#include "run/server_run.h"
#include "run/shown_run.h"

namespace outpace::run {
namespace {

constexpr std::uint64_t kNever = std::uint64_t{1} << 62U;  // Examples; no run gets there.

// What each worker is told, but for its rank.
job::PeerJob shared_by_peers(const job::TrainJob& job, const collective::HostOptions& host) {
  job::PeerJob peer{.training = job.training,
                    .topology = job.topology,
                    .peer_interface = job.peer_interface,
                    .bucket_kib = job.bucket_kib,
                    .gossip = job.gossip,
                    .work = job.work,
                    .weights = job.serving.weights,
                    .patience = job.membership.patience_to_begin(),
                    .progress_timeout = job.membership.progress_timeout,
                    .encrypt = !job.serving.listen.empty(),
                    .decisions = job.output.decisions};
  peer.training.policy = Spec::parse("sync");  // The steps are those of fresh gradients.
  peer.training.limits = host.limits;
  peer.training.evaluate_every = host.evaluate_every;
  return peer;
}

std::string token_file(const ScratchDirectory& scratch, const std::optional<JobKeys>& keys) {
  return keys ? keys->token_file() : scratch.file("token");
}

collective::HostOptions host_options(const job::TrainJob& job,
                                     const ScratchDirectory& scratch,
                                     const std::optional<JobKeys>& keys) {
  const live::ServerOptions checked = to_server_options(job.training, job.membership, job.serving);
  const bool learns = job.work.paced.empty();
  collective::HostOptions options{.topology = job.topology,
                                  .centre = job.gossip.averaging == job::Averaging::kElastic,
                                  .workers = job.training.workers,
                                  .batch = job.training.batch,
                                  .min_workers = job.membership.min_workers,
                                  .listen = "unix:" + scratch.file("host.sock"),
                                  .token = live::token_of_server(token_file(scratch, keys)),
                                  .seed = job.training.seed,
                                  .with_replacement = checked.coordinator.with_replacement,
                                  .limits = checked.coordinator.limits,
                                  .evaluate_every = learns ? job.training.evaluate_every : kNever,
                                  .target = checked.target,
                                  .expects_evaluator = learns,
                                  .heartbeat_timeout = checked.coordinator.heartbeat_timeout,
                                  .patience = checked.coordinator.patience,
                                  .patience_to_return = job.membership.patience_to_return()};
  if (keys) {
    options.listen_beyond = job.serving.listen;
    options.tls = keys->tls();
    options.keyring = keys->keyring();
    options.seats_from = *job.workers_here;
    options.seats.planned = job.training.workers;
    options.seats.batch = job.training.batch;
    options.seats.settings = settings_of(shared_by_peers(job, options));
  }
  return options;
}

// Without its port.
std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

peer::Setting setting_of(const job::TrainJob& job, const collective::HostOptions& host) {
  return {.topology = job.topology,
          .batches = {.workers = host.workers,
                      .batch = host.batch,
                      .examples = 0,  // The workers know.
                      .updates = host.limits.updates,
                      .iterations = host.limits.iterations,
                      .epochs = host.limits.epochs},
          .evaluate_every = host.evaluate_every,
          .averaging = job.gossip.averaging,
          .graph = job.gossip.graph,
          .average_every = job.gossip.average_every,
          .seed = host.seed};
}

// What the ends of processes mean for the host. All but `job` outlive the result.
ChildWatchOptions watching(const job::TrainJob& job,
                           collective::Host& host,
                           RunRecorder& recorder,
                           const ScratchDirectory& scratch) {
  const bool others_may_go_on = !job.serving.listen.empty();  // Those of other machines.
  return {.worker_lost = [&host](const std::string& worker,
                                 const std::string& how) { host.worker_ended(worker, how); },
          .needs_evaluator = needs_evaluator(job.training),
          .end_run =
              [&host](ExitCode code, const std::string& why) {
                static_cast<int>(code) > 128 ? host.stop(code, why) : host.fail(code, why);
              },
          .workers_all_ended =
              [&host, others_may_go_on](const std::string& why) {
                if (!others_may_go_on) {
                  host.fail(ExitCode::kTooFewWorkers, why.empty() ? "all workers have ended" : why);
                }
              },
          .say = [&recorder](const std::string& line) { recorder.say(line); },
          .ends_at_once = [&scratch] { scratch.remove(); }};
}

live::RunResult end_of(collective::HostResult found) {
  return {.code = found.code,
          .why = std::move(found.why),
          .statistics = std::move(found.statistics),
          .evaluations = std::move(found.evaluations),
          .reached_target = found.reached_target,
          .manifest = std::move(found.manifest),
          .weights = std::move(found.weights)};
}

}  // namespace

RunEnd train_without_server(const job::TrainJob& job,
                            const std::string& resolved,
                            const Learner& learner) {
  check(job, learner);
  live::block_supervised_signals();
  const ScratchDirectory scratch;
  std::optional<JobKeys> keys = job.serving.listen.empty()
                                    ? std::nullopt
                                    : JobKeys::find(job.serving, "", "", scratch.path());
  allow_open_files(job.training.workers);
  collective::HostOptions options = host_options(job, scratch, keys);
  collective::Host host(options, {});
  // After it listens: a run that cannot begin leaves no record in the way of the next try.
  RunRecorder recorder({.training = job.training,
                        .output = job.output,
                        .topology = job.topology,
                        .name = job::what_runs(job),
                        .network = job.work.network.text,
                        .data = job.work.data.text,
                        .page = page_of(job.output, job.serving, ""),
                        .peers = setting_of(job, options)},
                       resolved);
  std::atomic<bool> evaluated = false;
  collective::HostCallbacks callbacks = recorder.host_watch();
  callbacks.evaluated = [&evaluated, keep = callbacks.evaluated](const server::Evaluation& found) {
    evaluated = true;
    keep(found);
  };
  host.watch(std::move(callbacks));
  job::PeerJob shared = shared_by_peers(job, options);
  shared.server = host.address();
  shared.token_file = token_file(scratch, keys);
  shared.rejoin_for = kRejoinFor;
  recorder.reachable(shared.server, shared.token_file);
  if (keys) {
    shared.listen = host_of(host.beyond());
    keys->settle(recorder.directory(), host.beyond(), job.serving.advertise);
    recorder.say(keys->how_to_join(""));
  }
  const ChildFiles files{.logs = recorder.make_log_directory(),
                         .resolved = scratch.path(),
                         .decisions = recorder.peer_decisions()};
  std::vector<live::ChildSpec> children =
      peer_children(shared, job, job.workers_here.value_or(job.training.workers), files);
  if (job.work.paced.empty()) {
    children.push_back(evaluator_child(
        job, {.server = shared.server, .token_file = shared.token_file}, files, [&evaluated] {
          return evaluated.exchange(false);
        }));
  }
  ChildWatch watch(watching(job, host, recorder, scratch));
  live::Supervisor supervisor(std::move(children), watch.events());
  collective::HostResult found = host.run();
  supervisor.reap(std::chrono::seconds(found.code == ExitCode::kDone ? 3 : 0));
  if (const auto refusal = watch.refusal();
      refusal && found.code != ExitCode::kDone && found.statistics.updates == 0) {
    recorder.discard();
    throw *refusal;
  }
  const std::optional<double> worst = found.worst_replica;
  return recorder.finish(end_of(std::move(found)), worst);
}

}  // namespace outpace::run

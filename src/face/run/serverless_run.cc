// Tested by test/program/topology_test.py (class Ring).

#include "run/serverless_run.h"

#include <atomic>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "collective/host.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/open_files.h"
#include "run/scratch_directory.h"
#include "run/server_run.h"
#include "run/shown_run.h"

namespace outpace::run {
namespace {

constexpr std::uint64_t kNever = std::uint64_t{1} << 62U;  // Examples; no run gets there.

// What each worker is told, but for its rank.
job::PeerJob shared_by_peers(const job::TrainJob& job,
                             const collective::HostOptions& host,
                             const std::string& address,
                             const ScratchDirectory& scratch) {
  job::PeerJob peer{.training = job.training,
                    .topology = job.topology,
                    .peer_interface = job.peer_interface,
                    .bucket_kib = job.bucket_kib,
                    .gossip = job.gossip,
                    .work = job.work,
                    .weights = job.serving.weights,
                    .patience = job.membership.patience_to_begin(),
                    .progress_timeout = job.membership.progress_timeout,
                    .server = address,
                    .token_file = scratch.file("token"),
                    .rendezvous = scratch.file("rendezvous"),
                    .decisions = job.output.decisions};
  peer.training.policy = Spec::parse("sync");  // The steps are those of fresh gradients.
  peer.training.limits = host.limits;
  peer.training.evaluate_every = host.evaluate_every;
  return peer;
}

collective::HostOptions host_options(const job::TrainJob& job, const ScratchDirectory& scratch) {
  const live::ServerOptions checked = to_server_options(job.training, job.membership, job.serving);
  const bool learns = job.work.paced.empty();
  return {.topology = job.topology,
          .centre = job.gossip.averaging == job::Averaging::kElastic,
          .workers = job.training.workers,
          .batch = job.training.batch,
          .min_workers = job.membership.min_workers,
          .listen = "unix:" + scratch.file("host.sock"),
          .token = live::token_of_server(scratch.file("token")),
          .seed = job.training.seed,
          .with_replacement = checked.coordinator.with_replacement,
          .limits = checked.coordinator.limits,
          .evaluate_every = learns ? job.training.evaluate_every : kNever,
          .target = checked.target,
          .expects_evaluator = learns,
          .heartbeat_timeout = checked.coordinator.heartbeat_timeout,
          .patience = checked.coordinator.patience};
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

}  // namespace

RunEnd train_without_server(const job::TrainJob& job,
                            const std::string& resolved,
                            const Learner& learner) {
  check(job, learner);
  live::block_supervised_signals();
  const ScratchDirectory scratch;
  allow_open_files(job.training.workers);
  collective::HostOptions options = host_options(job, scratch);
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
  const job::PeerJob shared = shared_by_peers(job, options, host.address(), scratch);
  const ChildFiles files{.logs = recorder.make_log_directory(),
                         .resolved = scratch.path(),
                         .decisions = recorder.peer_decisions()};
  std::vector<live::ChildSpec> children = peer_children(shared, job, files);
  if (job.work.paced.empty()) {
    children.push_back(evaluator_child(
        job, {.server = host.address(), .token_file = scratch.file("token")}, files, [&evaluated] {
          return evaluated.exchange(false);
        }));
  }
  ChildWatch watch(
      {.worker_lost = [&](const std::string& worker,
                          const std::string& how) { host.worker_ended(worker, how); },
       .needs_evaluator = needs_evaluator(job.training),
       .end_run =
           [&](ExitCode code, const std::string& why) {
             static_cast<int>(code) > 128 ? host.stop(code, why) : host.fail(code, why);
           },
       .workers_all_ended =
           [&](const std::string& why) {
             host.fail(ExitCode::kTooFewWorkers, why.empty() ? "all workers have ended" : why);
           },
       .say = [&](const std::string& line) { recorder.say(line); },
       .ends_at_once = [&] { scratch.remove(); }});
  live::Supervisor supervisor(std::move(children), watch.events());
  collective::HostResult found = host.run();
  supervisor.reap(std::chrono::seconds(found.code == ExitCode::kDone ? 3 : 0));
  if (const auto refusal = watch.refusal();
      refusal && found.code != ExitCode::kDone && found.statistics.updates == 0) {
    recorder.discard();
    throw *refusal;
  }
  return recorder.finish({.code = found.code,
                          .why = found.why,
                          .statistics = std::move(found.statistics),
                          .evaluations = std::move(found.evaluations),
                          .reached_target = found.reached_target,
                          .manifest = std::move(found.manifest),
                          .weights = std::move(found.weights)},
                         found.worst_replica);
}

}  // namespace outpace::run

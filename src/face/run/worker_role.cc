// Tested by test/program/launch_test.py (class Variables).

#include "run/worker_role.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "launch/train_part.h"
#include "live/leaving.h"
#include "live/paced_source.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "live/worker_loop.h"
#include "run/notice_watch.h"
#include "run/terminal.h"
#include "run/tls.h"
#include "run/whole_file.h"
#include "run/worker_state.h"
#include "throughput/coarse_cluster.h"
#include "throughput/measured_profile.h"
#include "throughput/operations.h"
#include "wire/kept_memory.h"
#include "worker/attack.h"

namespace outpace::run {

static_assert(job::kConnectionsMost == wire::kLanesMax);
namespace {

// For the lines that a process has said before it ends as it is, two seconds after it was told to.
constexpr auto kLastWords = std::chrono::milliseconds(200);

// A profile's tensors as layers. They have the measured layers' times if there are as many; else
// the times are divided by the tensors' sizes. Empty if no layers were measured.
std::vector<live::PacedLayer> paced_layers(const throughput::MeasuredProfile& profile) {
  std::vector<live::PacedLayer> layers;
  for (const throughput::LayerShare& layer : throughput::join_layers(profile)) {
    layers.push_back(
        {.forward = layer.forward, .backward = layer.backward, .tensors = layer.tensors});
  }
  return layers;
}

std::unique_ptr<worker::GradientSource> make_waiting_source(const job::Work& work,
                                                            std::uint32_t worker,
                                                            std::uint32_t workers,
                                                            std::uint64_t seed) {
  auto profile = throughput::MeasuredProfile::parse(whole_file("paced", work.paced), work.paced);
  std::vector<double> seconds = profile.computing_to_judge_by();
  if (job::waits_longer(work)) {
    const double factor = job::slow_factor(work.delays, worker, workers);
    std::ranges::for_each(seconds, [factor](double& one) { one *= factor; });
  }
  const double backward_share = throughput::backward_share(profile);
  std::vector<live::PacedLayer> layers = paced_layers(profile);
  return live::make_paced_source({.manifest = std::move(profile.manifest),
                                  .dataset_examples = profile.dataset_examples,
                                  .batch = profile.batch,
                                  .seconds = std::move(seconds),
                                  .backward_share = backward_share,
                                  .layers = std::move(layers),
                                  .worker = WorkerId{worker},
                                  .seed = seed});
}

}  // namespace

job::WorkerJob placed(job::WorkerJob job, WorkerOptions& options, Terminal& terminal) {
  if (job.worker && !job.server.empty()) {
    return job;
  }
  const auto place = launch::find_place(options.environment, job.launcher);
  if (!place) {
    throw usage_error(
        std::string(job.worker ? "--server" : "--worker") +
        " is missing, and no launcher says it: " + launch::why_no_place(job.launcher));
  }
  options.token_may_come = true;
  const bool ranked = !job.worker;
  if (ranked) {
    job.worker = place->rank;
    job.workers = job.workers ? job.workers : place->world;
  }
  const bool found = job.server.empty();
  if (found) {
    const auto server = launch::server_address(options.environment, *place);
    if (!server) {
      throw usage_error("--server is missing: " + place->title + " does not say where it is");
    }
    job.server = *server;
  }
  const std::string who = ranked ? launch::worker_in_words(*place, job.workers)
                                 : "worker " + std::to_string(*job.worker);
  terminal.say(who + "; server " + job.server +
               (found ? ", as " + place->title + " says" : std::string()));
  return job;
}

std::unique_ptr<worker::GradientSource> make_source(const job::Work& work,
                                                    std::uint32_t worker,
                                                    std::uint32_t workers,
                                                    std::uint64_t seed,
                                                    const Learner& learner) {
  if (work.paced.empty()) {
    return learner.gradients(
        {.network = work.network, .data = work.data, .seed = seed, .threads = work.threads});
  }
  return make_waiting_source(work, worker, workers, seed);
}

void be_worker(job::WorkerJob job, const WorkerOptions& given, const Learner& learner) {
  wire::keep_freed_memory();
  live::block_supervised_signals();
  Terminal terminal;
  live::Leaving leaving({.end_as_it_is = [&terminal](int code) {
    terminal.finish(kLastWords);  // _exit() destroys nothing.
    _exit(code);
  }});
  // A supervisor without children: it hears signals, and a second one ends the process at once.
  const live::Supervisor signals(
      {}, {.interrupted = [&](int signal) {
        terminal.say("signal " + std::to_string(signal) +
                     ": leaving the job; a second signal ends this process at once");
        leaving.ask(signal);
      }});
  std::optional<NoticeWatch> notice;
  if (!job.on_notice.empty()) {
    notice.emplace(
        NoticeWatch::Options{.command = job.on_notice},
        [&] {
          terminal.say("the notice of --on-notice has come: leaving the job");
          leaving.ask(SIGTERM);
        },
        [&](const std::string& line) { terminal.say(line); });
  }
  WorkerOptions options = given;
  job = placed(std::move(job), options, terminal);
  const std::uint32_t worker = job.worker.value_or(0);
  if (worker >= protocol::kWorkersMax) {
    throw usage_error("--worker is " + std::to_string(worker) + "; it takes 0 to " +
                      std::to_string(protocol::kWorkersMax - 1));
  }
  const std::string token = options.token_may_come
                                ? live::await_token_file(job.token_file, job.reaching.deadline)
                                : live::read_token_file(job.token_file);
  const live::SessionOptions session{
      .server = job.server,
      .token = token,
      .tls = tls_to(job.server, job.tls, job.token_file, token, job.insecure_no_tls),
      .worker = WorkerId{worker},
      .deadline = job.reaching.deadline,
      .leaving = &leaving,
      .keep_alive = job.reaching.keep_alive,
      .connections = job.reaching.connections,
      .slice_bytes = job.work.slice.bytes,
      .compress = job.compress ? std::optional(compress::Compression::parse(job.compress->text))
                               : std::nullopt};
  const std::uint32_t workers = std::max(job.workers.value_or(0), worker + 1);
  const worker::Pace pace = job::make_pace(job.work, worker, workers, whole_file);
  const std::vector<worker::Attack> attacks = job::parse_attacks(job.work.attacks, workers);
  const auto source = make_source(job.work, worker, workers, job.seed, learner);
  live::StateKeeper keeper;
  std::optional<WorkerState> state;
  if (!job.keep_state.empty()) {
    state.emplace(job.keep_state, worker, [&](const std::string& line) { terminal.say(line); });
    keeper.keep = std::bind_front(&WorkerState::keep, &*state);
    keeper.take_up = std::bind_front(&WorkerState::take_up, &*state);
  }
  live::run_worker({.session = session,
                    .rejoin_for = job.reaching.rejoin_for,
                    .steps_ahead = job.steps_ahead,
                    .keeper = std::move(keeper)},
                   *source,
                   pace,
                   worker::Attacker::of(attacks, WorkerId{worker}, job.seed));
  if (leaving.asked() && leaving.exit_code() != 0) {
    throw Error(ExitCode{leaving.exit_code()}, "interrupted");
  }
}

void be_evaluator(const job::EvaluatorJob& job, const Learner& learner) {
  wire::keep_freed_memory();
  // Off the workers' path: what is left of the machine is enough.
  constexpr int kNice = 5;
  if (nice(kNice) == -1) {
    // Not being nice is no reason to fail.
  }
  const std::string token = live::read_token_file(job.token_file);
  const live::SessionOptions session{
      .server = job.server,
      .token = token,
      .tls = tls_to(job.server, job.tls, job.token_file, token, job.insecure_no_tls),
      .worker = WorkerId{0},
      .deadline = job.reaching.deadline,
      .keep_alive = job.reaching.keep_alive,
      .connections = job.reaching.connections};
  const auto evaluator = learner.evaluator(
      {.network = job.network, .data = job.data, .seed = job.seed, .threads = job.threads});
  live::run_evaluator(session, *evaluator, job.reaching.rejoin_for);
}

}  // namespace outpace::run

#include <algorithm>
#include <cstdio>
#include <memory>

#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/launcher_option.h"
#include "cli/libtorch.h"
#include "cli/options.h"
#include "cli/roles.h"
#include "launch/train_part.h"
#include "live/paced_source.h"
#include "live/token_file.h"
#include "live/worker_loop.h"
#include "throughput/coarse_cluster.h"
#include "throughput/measured_profile.h"

namespace outpace::cli {
namespace {

void add_role_options(CLI::App& command, RoleOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--token-file", options.token_file, "The job's secret, mode 0600")->required();
  command.add_option("--seed", options.seed, "Of the initial weights: the same on every worker");
  command.add_option("--connect-deadline", options.deadline, "How long to try to reach the server");
}

// With what was not said as the launcher says it.
RoleOptions placed(RoleOptions options) {
  if (options.worker && !options.server.empty()) {
    return options;
  }
  const launch::Variables variables = environment_variables();
  const auto place = launch::find_place(variables, options.launcher);
  if (!place) {
    throw usage_error(
        std::string(options.worker ? "--server" : "--worker") +
        " is missing, and no launcher says it: " + launch::why_no_place(options.launcher));
  }
  options.token_may_come = true;
  const bool ranked = !options.worker;
  if (ranked) {
    options.worker = place->rank;
    options.workers = options.workers ? options.workers : place->world;
    options.incarnation =
        options.incarnation.value_or(launch::incarnation_of_start(place->restarts));
  }
  const bool found = options.server.empty();
  if (found) {
    const auto server = launch::server_address(variables, *place);
    if (!server) {
      throw usage_error("--server is missing: " + place->title + " does not say where it is");
    }
    options.server = *server;
  }
  const std::string who = ranked ? launch::worker_in_words(*place, options.workers)
                                 : "worker " + std::to_string(*options.worker);
  std::fprintf(stderr,
               "outpace: %s; server %s%s\n",
               who.c_str(),
               options.server.c_str(),
               found ? (", as " + place->title + " says").c_str() : "");
  return options;
}

live::SessionOptions session_of(const RoleOptions& options) {
  const Duration deadline = duration_option("connect-deadline", options.deadline);
  return {.server = options.server,
          .token = options.token_may_come ? live::await_token_file(options.token_file, deadline)
                                          : live::read_token_file(options.token_file),
          .worker = WorkerId{options.worker.value_or(0)},
          .incarnation = options.incarnation.value_or(1),
          .deadline = deadline};
}

int evaluate(const RoleOptions& options) {
  require_libtorch("evaluator");
  // Off the workers' path: what is left of the machine is enough.
  constexpr int kNice = 5;
  if (nice(kNice) == -1) {
    // Not being nice is no reason to fail.
  }
  const live::SessionOptions session = session_of(options);
  const auto evaluator = make_evaluator({.network = Spec::parse(options.work.network),
                                         .data = Spec::parse(options.work.data),
                                         .seed = options.seed,
                                         .threads = options.work.threads});
  live::run_evaluator(session, *evaluator);
  return 0;
}

}  // namespace

std::unique_ptr<worker::GradientSource> make_source(const WorkOptions& options,
                                                    std::uint32_t worker,
                                                    std::uint32_t workers,
                                                    std::uint64_t seed) {
  if (options.paced.empty()) {
    return make_gradients({.network = Spec::parse(options.network),
                           .data = Spec::parse(options.data),
                           .seed = seed,
                           .threads = options.threads});
  }
  auto profile =
      throughput::MeasuredProfile::parse(read_file("paced", options.paced), options.paced);
  std::vector<double> seconds = profile.computing_to_judge_by();
  if (waits_longer(options)) {
    const double factor = slow_factor(options, worker, workers);
    std::ranges::for_each(seconds, [factor](double& one) { one *= factor; });
  }
  const double backward_share = throughput::ring_costs(profile, {}).backward_share;
  return live::make_paced_source({.manifest = std::move(profile.manifest),
                                  .dataset_examples = profile.dataset_examples,
                                  .batch = profile.batch,
                                  .seconds = std::move(seconds),
                                  .backward_share = backward_share,
                                  .worker = WorkerId{worker},
                                  .seed = seed});
}

int work(RoleOptions options) {
  if (options.work.paced.empty()) {
    require_libtorch("worker without --paced");
  }
  options = placed(std::move(options));
  const std::uint32_t worker = options.worker.value_or(0);
  if (worker >= protocol::kWorkersMax) {
    throw usage_error("--worker is " + std::to_string(worker) + "; it takes 0 to " +
                      std::to_string(protocol::kWorkersMax - 1));
  }
  const live::SessionOptions session = session_of(options);
  const std::uint32_t workers = std::max(options.workers.value_or(0), worker + 1);
  const worker::Pace pace = make_pace(options.work, worker, workers);
  const std::vector<worker::Attack> attacks = parse_attacks(options.work, workers);
  const auto source = make_source(options.work, worker, workers, options.seed);
  live::run_worker({.session = session},
                   *source,
                   pace,
                   worker::Attacker::of(attacks, WorkerId{worker}, options.seed));
  return 0;
}

Run add_worker(CLI::App& command) {
  auto options = std::make_shared<RoleOptions>();
  command.option_defaults()->always_capture_default();
  command.add_option("--server",
                     options->server,
                     "HOST:PORT or unix:PATH of the job's server (default: as torchrun or Slurm "
                     "say)");
  add_role_options(command, *options);
  add_work_options(command, options->work);
  command.add_option("--worker",
                     options->worker,
                     "This worker's rank: 0, 1, 2, ... (default: as the launcher says)");
  command.add_option("--workers",
                     options->workers,
                     "Workers in the job: the columns of --delays (default: as the launcher says)");
  command.add_option("--incarnation",
                     options->incarnation,
                     "Greater than that of any earlier process of this rank (default: 1, and more "
                     "if torchrun or Slurm say that they started it again)");
  add_launcher_option(command, options->launcher);
  return
      [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) { return work(*options); };
}

Run add_evaluator(CLI::App& command) {
  auto options = std::make_shared<RoleOptions>();
  command.add_option("--server", options->server, "HOST:PORT or unix:PATH of the job's server")
      ->required();
  add_role_options(command, *options);
  command.add_option("--network", options->work.network, "As the workers'");
  command.add_option("--data", options->work.data, "As the workers'");
  command.add_option("--threads", options->work.threads, "Of libtorch");
  return [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) {
    return evaluate(*options);
  };
}

}  // namespace outpace::cli

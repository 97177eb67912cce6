#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/launch_part.h"
#include "cli/libtorch.h"
#include "cli/print_result.h"
#include "job/layers.h"
#include "job/live_job.h"
#include "launch/train_part.h"
#include "run/server_run.h"
#include "run/serverless_run.h"
#include "run/worker_role.h"

namespace outpace::cli {
namespace {

// What another process than the first of a launch does.
int work_for_first(const job::TrainJob& job, const launch::TrainPart& part) {
  constexpr bool kHasServer = true;
  run::check(job, learner(), !kHasServer);
  const job::WorkerJob worker{
      .work = job.work,
      .server = part.address,
      .token_file = job.token_file,
      .tls = job.serving.tls,
      .insecure_no_tls = job.serving.insecure_no_tls,
      .worker = part.place.rank,
      .workers = part.workers,
      .seed = job.training.seed,
      .steps_ahead = job.steps_ahead,
      .keep_state = {},
      .reaching = {.deadline = job.membership.patience_to_begin(), .rejoin_for = job.rejoin_for}};
  std::fprintf(stderr,
               "outpace: %s; server %s\n",
               launch::worker_in_words(part.place, part.workers).c_str(),
               part.address.c_str());
  run::be_worker(worker, {.environment = {}, .token_may_come = true}, learner());
  return 0;
}

}  // namespace

Run add_train(job::OptionList& list) {
  auto job = std::make_shared<job::TrainJob>();
  declare(list, *job);
  return [job, &list](const job::OptionList& /*chosen*/) {
    job::fit_topology(list, *job);
    const auto part = join_launch(list,
                                  {.launcher = job->launcher,
                                   .token_file = job->token_file,
                                   .serving = job->serving,
                                   .training = job->training});
    if (part && job->keep_worker_state) {
      throw usage_error(
          "train: --keep-worker-state under a launcher: the run's directory may be on another "
          "machine; remove it, and start the workers by `outpace worker --keep-state FOLDER`");
    }
    if (part && part->place.rank > 0) {
      return work_for_first(*job, *part);
    }
    const std::string resolved = job::resolved_toml("train", list);
    const run::RunEnd end = job->topology == job::Topology::kServer
                                ? run::train(*job, part, resolved, learner())
                                : run::train_without_server(*job, resolved, learner());
    return print_result(end, job->output.json);
  };
}

}  // namespace outpace::cli

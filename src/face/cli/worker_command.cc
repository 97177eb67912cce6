#include <memory>

#include "cli/commands.h"
#include "cli/libtorch.h"
#include "cli/print_result.h"
#include "command_line/command_line.h"
#include "job/layers.h"
#include "job/live_job.h"
#include "job/reduce_job.h"
#include "run/reduce_run.h"
#include "run/worker_role.h"
#include "wire/environment.h"

namespace outpace::cli {

Run add_worker(job::OptionList& list) {
  auto job = std::make_shared<job::WorkerJob>();
  declare(list, *job);
  job::declare_reduce_here(list, job->reduce_here);
  return [job](const job::OptionList& chosen) {
    if (job->work.paced.empty()) {
      require_libtorch("worker without --paced");
    }
    if (job->reduce_here > 0) {
      return print_result(run::reduce_workers(*job,
                                              {.environment = wire::environment_variables()},
                                              job::resolved_toml("worker", chosen)),
                          /*json=*/false);
    }
    run::be_worker(*job, {.environment = wire::environment_variables()}, learner());
    return 0;
  };
}

Run add_evaluator(job::OptionList& list) {
  auto job = std::make_shared<job::EvaluatorJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) {
    require_libtorch("evaluator");
    run::be_evaluator(*job, learner());
    return 0;
  };
}

}  // namespace outpace::cli

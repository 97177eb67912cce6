#include <memory>

#include "cli/commands.h"
#include "cli/print_result.h"
#include "job/layers.h"
#include "job/reduce_job.h"
#include "run/reduce_run.h"

namespace outpace::cli {

Run add_reduce(job::OptionList& list) {
  auto job = std::make_shared<job::ReduceJob>();
  declare(list, *job);
  return [job](const job::OptionList& chosen) {
    return print_result(run::reduce(*job, job::resolved_toml("reduce", chosen)), job->output.json);
  };
}

}  // namespace outpace::cli

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/launch_part.h"
#include "cli/print_result.h"
#include "job/layers.h"
#include "job/run_job.h"
#include "run/script_run.h"

namespace outpace::cli {

Run add_run(job::OptionList& list) {
  auto job = std::make_shared<job::RunJob>();
  declare(list, *job);
  return [job, &list](const job::OptionList& /*chosen*/) {
    const auto part = join_launch(list,
                                  {.launcher = job->launcher,
                                   .token_file = job->token_file,
                                   .serving = job->serving,
                                   .training = job->training});
    if (part && part->place.rank > 0) {
      std::fprintf(stderr,
                   "outpace: %s; server %s\n",
                   launch::worker_in_words(part->place, part->workers).c_str(),
                   part->address.c_str());
      run::become_worker(*job, *part);
    }
    const run::RunEnd end = run::run_script(*job, part, job::resolved_toml("run", list));
    return print_result(end, job->output.json);
  };
}

}  // namespace outpace::cli

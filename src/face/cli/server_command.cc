#include <memory>

#include "cli/commands.h"
#include "cli/print_result.h"
#include "job/layers.h"
#include "job/live_job.h"
#include "run/server_run.h"

namespace outpace::cli {

Run add_server(job::OptionList& list) {
  auto job = std::make_shared<job::ServerJob>();
  declare(list, *job);
  return [job](const job::OptionList& chosen) {
    return print_result(run::serve(*job, job::resolved_toml("server", chosen)), job->output.json);
  };
}

}  // namespace outpace::cli

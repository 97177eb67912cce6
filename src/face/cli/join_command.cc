#include <memory>

#include "cli/commands.h"
#include "job/join_job.h"
#include "run/join_run.h"

namespace outpace::cli {

Run add_join(job::OptionList& list) {
  auto job = std::make_shared<job::JoinJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) { return run::join_run(*job); };
}

}  // namespace outpace::cli

#include "cli/print_result.h"

#include <unistd.h>

#include "base/error.h"
#include "record/worker_table.h"
#include "run/side_writer.h"

namespace outpace::cli {

int print_result(const run::RunEnd& end, bool json) {
  // With --json standard output holds that one object alone.
  (void)run::print(json ? STDERR_FILENO : STDOUT_FILENO,
                   record::worker_table(end.summary) + "run directory: " + end.directory + "\n");
  if (json && !run::print(STDOUT_FILENO, record::to_json(end.summary).dump() + "\n") &&
      end.code == ExitCode::kDone) {
    throw Error(
        ExitCode::kFailure,
        "nobody read the result on standard output; it is in " + end.directory + "/summary.json");
  }
  if (end.code != ExitCode::kDone) {
    throw Error(end.code, end.why);
  }
  return 0;
}

}  // namespace outpace::cli

#include "cli/print_result.h"

#include <cstdio>

#include "base/error.h"
#include "record/worker_table.h"

namespace outpace::cli {

int print_result(const run::RunEnd& end, bool json) {
  // With --json standard output holds that one object alone.
  std::FILE* people = json ? stderr : stdout;
  std::fputs(record::worker_table(end.summary).c_str(), people);
  std::fprintf(people, "run directory: %s\n", end.directory.c_str());
  std::fflush(people);
  if (json) {
    std::printf("%s\n", record::to_json(end.summary).dump().c_str());
    std::fflush(stdout);
  }
  if (end.code != ExitCode::kDone) {
    throw Error(end.code, end.why);
  }
  return 0;
}

}  // namespace outpace::cli

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "cli/simulated_peers_run.h"
#include "job/layers.h"
#include "job/simulate_job.h"
#include "record/worker_table.h"
#include "run/simulated_run.h"
#include "wire/kept_memory.h"

namespace outpace::cli {
namespace {

void print_simulated(const run::SimulatedRun& run, bool json) {
  std::FILE* people = json ? stderr : stdout;
  fmt::print(people, "{}", record::worker_table(run.end.summary));
  fmt::print(people,
             "{:.6g} simulated seconds in {:.3g} s; {} events, {:.3g} million/s; event log {}\n",
             to_seconds(run.result.ended),
             run.wall_seconds,
             run.result.events,
             1e-6 * static_cast<double>(run.result.events) / run.wall_seconds,
             run.end.json["event_log_hash"].get<std::string>());
  if (!run.end.directory.empty()) {
    fmt::print(people, "run directory: {}\n", run.end.directory);
  }
  std::fflush(people);
  if (json) {
    fmt::print("{}\n", run.end.json.dump());
    std::fflush(stdout);
  }
}

int simulate(const job::SimulateJob& job, const std::string& resolved) {
  if (job.learn) {
    require_libtorch("--learn " + job.learn->text);
  }
  wire::ask_for_large_pages();
  const run::SimulatedRun run = run::simulate(job, resolved, learner());
  print_simulated(run, job.output.json);
  if (run.result.code != ExitCode::kDone) {
    throw Error(run.result.code, run.result.why);
  }
  return 0;
}

}  // namespace

Run add_simulate(job::OptionList& list) {
  auto job = std::make_shared<job::SimulateJob>();
  declare(list, *job);
  return [job](const job::OptionList& chosen) {
    check(*job);
    fit_peers(chosen, *job);
    const std::string resolved = job::resolved_toml("simulate", chosen);
    return job->peers.any() ? simulate_peers(*job, resolved) : simulate(*job, resolved);
  };
}

}  // namespace outpace::cli

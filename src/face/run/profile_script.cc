// Tested by test/program/run_script_test.py (class Profiled).

#include "run/profile_script.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "live/pass_log.h"
#include "run/scratch_directory.h"
#include "run/script_run.h"
#include "run/whole_file.h"

namespace outpace::run {
namespace {

job::RunJob run_job_of(const job::ProfileJob& job, const ScratchDirectory& scratch) {
  job::RunJob run;
  run.training.policy = job.training.policy;
  run.training.workers = 1;
  run.training.batch = job.training.batch;
  run.training.seed = job.training.seed;
  // The rest of the last iteration is not seen.
  run.training.limits.iterations = kWarmUp + job.iterations + 1;
  run.serving = job.serving;
  run.output.out = scratch.file("run");
  run.checkpoints.every = {.updates = 0, .time = {}};
  run.command = job.command;
  run.threads = job.threads;
  run.passes = scratch.file("passes.json");
  return run;
}

// "momentum:mu=0.9" of "momentum:mu=0.9, the first of 2 parameter groups".
std::string optimizer_of(const std::string& in_words) {
  return in_words.substr(0, in_words.find(", the first of"));
}

std::vector<throughput::PassMarks> measured_passes(const live::NotedPasses& noted) {
  std::vector<throughput::PassMarks> passes;
  for (const live::NotedPass& pass :
       std::span(noted.passes).subspan(std::min(noted.passes.size(), kWarmUp))) {
    passes.push_back({.begin = pass.begin, .between = pass.between, .end = pass.end});
  }
  return passes;
}

}  // namespace

MeasuredWorker measure_script(const job::ProfileJob& job, const MeasurePeers& measure_peers) {
  const ScratchDirectory scratch;
  const job::RunJob run = run_job_of(job, scratch);
  const RunEnd end = run_script(run, std::nullopt, "");
  if (!std::filesystem::exists(run.passes)) {
    if (end.code != ExitCode::kDone) {
      throw Error(end.code, "profile: " + end.why);
    }
    throw Error(ExitCode::kFailure,
                "profile: the program ended without its notes: it must take mini-batches until "
                "there are no more, or leave the job");
  }
  const live::NotedPasses noted = live::parse_noted(whole_file("profile", run.passes));
  const std::vector<throughput::PassMarks> passes = measured_passes(noted);
  constexpr std::size_t kLeast = 5;  // A profile has four iterations at least.
  if (passes.size() < kLeast) {
    throw Error(ExitCode::kFailure,
                fmt::format("profile: the program computed {} mini-batches; it takes {} to measure "
                            "anything: more epochs, or a smaller --batch",
                            noted.passes.size(),
                            kWarmUp + kLeast));
  }
  job::ProfileJob measured = job;
  measured.training.optimizer = Spec::parse(optimizer_of(end.summary.optimizer));
  return profile_of(measured,
                    {.network = fmt::format("{}", fmt::join(job.command, " ")),
                     .data = "its own data",
                     .dataset_examples = noted.examples,
                     .manifest = noted.manifest},
                    passes,
                    noted.needs,
                    measure_peers);
}

}  // namespace outpace::run

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "job/plan_job.h"
#include "record/summary_reader.h"
#include "run/whole_file.h"
#include "throughput/found_plan.h"
#include "throughput/plan_choices.h"
#include "throughput/plan_text.h"
#include "throughput/profile_json.h"

namespace outpace::cli {
namespace {

throughput::FoundPlan find(const job::PlanJob& job, const std::string& text, bool calibrated) {
  if (calibrated) {
    const auto profile =
        throughput::calibrated_profile(throughput::parse_profile(text, job.profile), job.profile);
    return find_plan(job, throughput::choices_of_calibrated(profile, job));
  }
  const auto profile = throughput::MeasuredProfile::parse(text, job.profile);
  return find_plan(job, throughput::choices_of_measured(profile, job, run::whole_file));
}

int plan(job::PlanJob job, const job::OptionList& chosen) {
  const std::string text = run::whole_file("profile", job.profile);
  const job::ProfileKind kind = job::profile_kind(
      throughput::kind_of(throughput::parse_profile(text, job.profile), job.profile), job.profile);
  check(chosen, job, kind);
  if (kind == job::ProfileKind::kMeasured) {
    fit_gossip(chosen, job.topologies, job.cluster);
  }
  if (!job.noise_from.empty()) {
    record::Learning learning = record::read_learning(job.noise_from);
    job.noise_scale = learning.noise_scale;
    job.reached = std::move(learning.reached);
  }
  const throughput::FoundPlan found = find(job, text, kind == job::ProfileKind::kCalibrated);
  for (const std::string& why : found.left_out) {
    fmt::print(stderr, "outpace: left out, for it is not possible: {}\n", why);
  }
  if (!found.caveat.empty()) {
    fmt::print(stderr, "outpace: {}\n", found.caveat);
  }
  fmt::print("{}",
             job.json ? throughput::plan_json(job, found) : throughput::plan_table(job, found));
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_plan(job::OptionList& list) {
  auto job = std::make_shared<job::PlanJob>();
  declare(list, *job);
  return [job](const job::OptionList& chosen) { return plan(*job, chosen); };
}

}  // namespace outpace::cli

#include <cstdio>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/plan_choices.h"
#include "cli/plan_output.h"
#include "throughput/cluster_search.h"
#include "throughput/efficiency.h"
#include "throughput/profile_json.h"

namespace outpace::cli {
namespace {

void count_worth(const PlanOptions& options, double batch, PlanRow& row) {
  if (options.objective == "goodput") {
    row.efficiency =
        throughput::efficiency(*options.noise_scale, {.mixed = row.mixed_examples, .first = batch});
  }
}

FoundPlan find_plan(const PlanOptions& options, PlanChoices choices) {
  std::vector<throughput::Candidate> candidates;
  candidates.reserve(choices.rows.size());
  for (PlanRow& row : choices.rows) {
    count_worth(options, choices.batch, row);
    candidates.push_back({.guess = row.value(), .cost = row.cost});
  }
  std::map<std::size_t, PlanRow> verified;
  const auto verify = [&](std::size_t i) {
    PlanRow row = choices.verify(i);
    count_worth(options, choices.batch, row);
    return verified.insert_or_assign(i, std::move(row)).first->second.value();
  };
  const throughput::Plan plan = throughput::search_plan(
      candidates,
      verify,
      {.rank = options.objective == "cost" ? throughput::Rank::kForCost : throughput::Rank::kMost,
       .target = options.target,
       .top = options.top,
       .margin = choices.margin,
       // Whatever is shown can be verified.
       .verified_most = 200 + std::size_t{4} * options.top});
  const auto row_of = [&](const throughput::Planned& planned) {
    const auto found = verified.find(planned.candidate);
    return found == verified.end() ? choices.rows.at(planned.candidate) : found->second;
  };
  FoundPlan found{.best = {},
                  .nearly = {},
                  .choices = choices.rows.size(),
                  .verified = plan.verified,
                  .left_out = {}};
  found.best.reserve(plan.best.size());
  for (const throughput::Planned& planned : plan.best) {
    found.best.push_back(row_of(planned));
  }
  if (plan.nearly) {
    found.nearly = row_of(*plan.nearly);
  }
  found.left_out.reserve(choices.left_out.size());
  for (const auto& left_out : choices.left_out) {
    found.left_out.push_back(left_out.second);
  }
  return found;
}

// Options that only one kind of profile has are refused with the other.
void check_kind_of_plan(const PlanOptions& options,
                        const std::string& kind,
                        const Origins& origins) {
  std::vector<std::string> others{"workers-per-node", "batch"};
  if (kind == throughput::kCalibrated) {
    others = modelled_cluster_option_names();
    others.emplace_back("shards");
  } else if (kind != throughput::kMeasured) {
    throw usage_error(options.profile + " is of an unknown kind, '" + kind +
                      "'; known: measured, calibrated");
  }
  for (const std::string& other : others) {
    if (origins.contains(other)) {
      throw usage_error(
          fmt::format("--{} does not go with a {} profile; it is for one that outpace {} wrote",
                      other,
                      kind,
                      kind == throughput::kCalibrated ? "profile" : "calibrate"));
    }
  }
}

int plan(PlanOptions options, const Origins& origins) {
  const std::string text = read_file("profile", options.profile);
  const nlohmann::json parsed = throughput::parse_profile(text, options.profile);
  const std::string kind = throughput::kind_of(parsed, options.profile);
  check_kind_of_plan(options, kind, origins);
  check_plan_options(options);
  FoundPlan found;
  if (kind == throughput::kCalibrated) {
    const auto profile = throughput::calibrated_profile(parsed, options.profile);
    found = find_plan(options, choices_of_calibrated(profile, options));
  } else {
    const auto profile = throughput::MeasuredProfile::parse(text, options.profile);
    found = find_plan(options, choices_of_measured(profile, options));
  }
  for (const std::string& why : found.left_out) {
    fmt::print(stderr, "outpace: left out where it is not possible: {}\n", why);
  }
  if (options.json) {
    print_plan_as_json(options, found);
  } else {
    print_plan(options, found);
  }
  return 0;
}

}  // namespace

Run add_plan(job::OptionList& list) {
  auto options = std::make_shared<PlanOptions>();
  add_plan_options(command, *options);
  return [options](const job::OptionList& chosen) {
    return plan(*options, origins);
  };
}

}  // namespace outpace::cli

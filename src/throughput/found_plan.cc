#include "throughput/found_plan.h"

#include <map>
#include <utility>

#include "throughput/cluster_search.h"
#include "throughput/efficiency.h"

namespace outpace::throughput {
namespace {

void weigh(const job::PlanJob& job, double batch, PlanRow& row) {
  if (job.objective == job::Objective::kGoodput) {
    row.efficiency = efficiency(*job.noise_scale, {.mixed = row.mixed_examples, .first = batch});
  }
}

PlanOptions search_options(const job::PlanJob& job, double margin) {
  constexpr std::size_t kVerifiedLeast = 200;
  constexpr std::size_t kVerifiedForEachShown = 4;  // So that whatever is shown can be verified.
  return {.rank = job.objective == job::Objective::kCost ? Rank::kForCost : Rank::kMost,
          .target = job.target,
          .top = job.top,
          .margin = margin,
          .verified_most = kVerifiedLeast + kVerifiedForEachShown * job.top};
}

}  // namespace

FoundPlan find_plan(const job::PlanJob& job, PlanChoices choices) {
  std::vector<Candidate> candidates;
  candidates.reserve(choices.rows.size());
  for (PlanRow& row : choices.rows) {
    weigh(job, choices.batch, row);
    candidates.push_back({.guess = row.value(), .cost = row.cost});
  }
  std::map<std::size_t, PlanRow> verified;
  const auto verify = [&](std::size_t i) {
    PlanRow row = choices.verify(i);
    weigh(job, choices.batch, row);
    return verified.insert_or_assign(i, std::move(row)).first->second.value();
  };
  const Plan plan = search_plan(candidates, verify, search_options(job, choices.margin));
  const auto row_of = [&](const Planned& planned) {
    const auto found = verified.find(planned.candidate);
    return found == verified.end() ? choices.rows.at(planned.candidate) : found->second;
  };
  FoundPlan found{.best = {},
                  .nearly = {},
                  .choices = choices.rows.size(),
                  .verified = plan.verified,
                  .left_out = {}};
  found.best.reserve(plan.best.size());
  for (const Planned& planned : plan.best) {
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

}  // namespace outpace::throughput

#include "throughput/found_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "throughput/cluster_search.h"
#include "throughput/efficiency.h"

namespace outpace::throughput {
namespace {

void weigh(const job::PlanJob& job, double batch, PlanRow& row) {
  if (job.objective == job::Objective::kGoodput) {
    row.efficiency = efficiency(*job.noise_scale, {.mixed = row.mixed_examples, .first = batch});
    if (job.reached && row.is_modelled) {
      row.seconds_to_reached =
          examples_to(*job.reached, *job.noise_scale, row.mixed_examples) / row.examples_per_second;
    }
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

// Clusters of one topology and policy are of one kind.
std::vector<Candidate> candidates_of(const std::vector<PlanRow>& rows,
                                     const std::vector<std::size_t>& among) {
  std::map<std::pair<std::string, std::string>, std::size_t> kinds;
  std::vector<Candidate> candidates;
  candidates.reserve(among.size());
  for (const std::size_t i : among) {
    const PlanRow& row = rows[i];
    const auto kind =
        kinds.emplace(std::pair(row.topology, row.policy), kinds.size()).first->second;
    candidates.push_back(
        {.guess = row.value(), .cost = row.cost, .is_guessed = row.is_modelled, .kind = kind});
  }
  return candidates;
}

bool differ_in_steps_alone(const PlanRow& a, const PlanRow& b) {
  return a.policy == b.policy && a.topology == b.topology && a.workers == b.workers &&
         a.shards == b.shards;
}

// The row that is as `best` but for its local steps, which are the fewest that give it 95 % of the
// value; nothing if `best` has them.
std::optional<std::size_t> with_fewer_steps(const std::vector<PlanRow>& rows,
                                            const PlanRow& best,
                                            const std::function<double(std::size_t)>& verify) {
  constexpr double kEnough = 0.95;
  std::vector<std::size_t> fewer;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (differ_in_steps_alone(rows[i], best) && rows[i].local_steps < best.local_steps) {
      fewer.push_back(i);
    }
  }
  std::ranges::sort(fewer, {}, [&](std::size_t i) { return rows[i].local_steps; });
  const auto enough = std::ranges::find_if(
      fewer, [&](std::size_t i) { return verify(i) >= kEnough * best.value(); });
  return enough == fewer.end() ? std::nullopt : std::optional(*enough);
}

}  // namespace

FoundPlan find_plan(const job::PlanJob& job, PlanChoices choices) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> can_run;
  for (std::size_t i = 0; i < choices.rows.size(); ++i) {
    weigh(job, choices.batch, choices.rows[i]);
    all.push_back(i);
    if (choices.rows[i].can_run()) {
      can_run.push_back(i);
    }
  }
  std::map<std::size_t, PlanRow> verified;
  const auto verify = [&](std::size_t i) {
    if (const auto known = verified.find(i); known != verified.end()) {
      return known->second.value();
    }
    PlanRow row = choices.verify(i);
    weigh(job, choices.batch, row);
    return verified.emplace(i, std::move(row)).first->second.value();
  };
  const auto search = [&](const std::vector<std::size_t>& among) {
    Plan plan = search_plan(
        candidates_of(choices.rows, among),
        [&](std::size_t i) { return verify(among[i]); },
        search_options(job, choices.margin));
    for (Planned& planned : plan.best) {
      planned.candidate = among[planned.candidate];
    }
    if (plan.nearly) {
      plan.nearly->candidate = among[plan.nearly->candidate];
    }
    return plan;
  };
  const auto row_of = [&](const Planned& planned) {
    const auto found = verified.find(planned.candidate);
    return found == verified.end() ? choices.rows.at(planned.candidate) : found->second;
  };
  const Plan plan = search(can_run.empty() ? all : can_run);
  FoundPlan found{.best = {},
                  .nearly = {},
                  .choices = choices.rows.size(),
                  .can_run = can_run.size(),
                  .verified = 0,
                  .left_out = {}};
  for (const Planned& planned : plan.best) {
    found.best.push_back(row_of(planned));
  }
  if (plan.nearly) {
    found.nearly = row_of(*plan.nearly);
  }
  if (const auto fewer = with_fewer_steps(choices.rows, found.best.front(), verify)) {
    found.fewer_steps = verified.at(*fewer);
  }
  if (!can_run.empty() && can_run.size() < all.size()) {
    for (const Planned& planned : search(all).best) {
      if (!choices.rows.at(planned.candidate).can_run()) {
        found.best.push_back(row_of(planned));
      }
    }
  }
  found.verified = verified.size();
  found.caveat = choices.caveat;
  found.packing = choices.packing;
  found.left_out.reserve(choices.left_out.size());
  for (const auto& left_out : choices.left_out) {
    found.left_out.push_back(left_out.second);
  }
  return found;
}

}  // namespace outpace::throughput

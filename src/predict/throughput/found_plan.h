// The plan that `outpace plan` finds among its choices.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "job/plan_job.h"
#include "throughput/plan_row.h"

namespace outpace::throughput {

struct FoundPlan {
  // The first is the one to take, or comes closest to the target. Clusters that cannot be run come
  // last, unless no other was asked for.
  std::vector<PlanRow> best;
  std::optional<PlanRow> nearly;  // Nearly as good for less (throughput/cluster_search.h).
  // The first with the fewest local steps that give 95 % of its value; nothing if it has them.
  std::optional<PlanRow> fewer_steps = {};
  std::size_t choices = 0;
  std::size_t can_run = 0;   // Among the choices.
  std::size_t verified = 0;  // By a fine model.
  std::vector<std::string> left_out;
  std::string caveat = {};   // About a free gossip, if it is among the choices.
  std::string packing = {};  // What it costs and saves; empty without any.
};

// Weighs the choices by the job's objective, and verifies those that could be best. REQUIRES: some
// rows; with goodput, the job has its noise scale.
[[nodiscard]] FoundPlan find_plan(const job::PlanJob& job, PlanChoices choices);

}  // namespace outpace::throughput

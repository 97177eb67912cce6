// A plan for people and for programs.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan_options.h"
#include "cli/plan_row.h"

namespace outpace::cli {

struct FoundPlan {
  std::vector<PlanRow> best;      // The first is the one to take, or comes closest.
  std::optional<PlanRow> nearly;  // For less (throughput/cluster_search.h).
  std::size_t choices = 0;
  std::size_t verified = 0;  // By a fine model.
  std::vector<std::string> left_out;
};

// One sentence or two: what to take and why, or that nothing reaches the target.
[[nodiscard]] std::string recommendation(const PlanOptions& options, const FoundPlan& found);

void print_plan(const PlanOptions& options, const FoundPlan& found);
// One JSON object on standard output.
void print_plan_as_json(const PlanOptions& options, const FoundPlan& found);

}  // namespace outpace::cli

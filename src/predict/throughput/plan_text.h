// A plan as a table for people, with a recommendation, and as JSON for programs.

#pragma once

#include <string>

#include "job/plan_job.h"
#include "throughput/found_plan.h"

namespace outpace::throughput {

// One sentence or two: what to take and why, or that nothing reaches the target.
[[nodiscard]] std::string recommendation(const job::PlanJob& job, const FoundPlan& found);

[[nodiscard]] std::string plan_table(const job::PlanJob& job, const FoundPlan& found);
// One JSON object, and a line's end.
[[nodiscard]] std::string plan_json(const job::PlanJob& job, const FoundPlan& found);

}  // namespace outpace::throughput

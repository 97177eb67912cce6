// What `outpace plan` is asked.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/option_list.h"

#include "cli/cluster_options.h"
#include "cli/predict_table.h"

namespace outpace::cli {

inline constexpr std::size_t kPlanChoicesMost = 100'000;

struct PlanOptions {
  std::string profile;
  std::string workers = "1..32";
  std::vector<std::string> policies;    // Empty: sync and async, or those that were calibrated.
  std::vector<std::string> topologies;  // Empty: ps, or those that were calibrated.
  std::string shards = "1";
  ModelledClusterOptions cluster;
  WorkersOptions of_table;
  double worker_cost = 1.0;
  double server_cost = 1.0;
  std::string objective = "rate";
  std::optional<double> target;
  std::optional<double> noise_scale;
  std::string noise_from;
  std::uint32_t top = 10;
  bool json = false;
};
void add_plan_options(job::OptionList& list, PlanOptions& options);

// Reads the run that --noise-from names into noise_scale. Throws a usage error about what is wrong,
// or does not go together.
void check_plan_options(PlanOptions& options);

}  // namespace outpace::cli

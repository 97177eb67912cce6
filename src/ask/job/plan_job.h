// What `outpace plan` is asked: clusters to choose from, what they cost, and what is best.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/count_list.h"
#include "job/modelled_cluster.h"
#include "job/option_list.h"
#include "job/predict_job.h"
#include "policy/recorded_run.h"

namespace outpace::job {

// Most examples per second, most for the cost, or most progress of learning per second.
enum class Objective : std::uint8_t { kRate, kCost, kGoodput };
template <>
struct Choices<Objective> {
  static constexpr std::array<std::pair<std::string_view, Objective>, 3> kWords{
      {{"rate", Objective::kRate}, {"cost", Objective::kCost}, {"goodput", Objective::kGoodput}}};
};

struct PlanJob {
  std::string profile;  // A file.
  CountList workers = count_list("1..32");
  std::vector<std::string> policies;    // Empty: sync and async, or those that were calibrated.
  std::vector<std::string> topologies;  // Empty: ps, or those that were calibrated.
  CountList shards = count_list("1");
  ModelledCluster cluster;
  Placing placing;
  double worker_cost = 1.0;  // An hour, as the next.
  double server_cost = 1.0;
  Objective objective = Objective::kRate;
  std::optional<double> target;            // Examples per second, or goodput.
  std::optional<double> noise_scale;       // Examples. With kGoodput, or else noise_from.
  std::string noise_from;                  // A run's directory; empty: none.
  std::optional<policy::Reached> reached;  // By that run.
  std::uint32_t top = 10;
  bool json = false;
};
void declare(OptionList& options, PlanJob& job);

// After the options are set. Throws a usage error for options that are wrong, do not go together,
// or do not go with a profile of this kind.
void check(const OptionList& options, const PlanJob& job, ProfileKind kind);

}  // namespace outpace::job

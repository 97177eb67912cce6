#include "throughput/predict.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "throughput/quantile.h"

namespace outpace::throughput {
namespace {

// Uncertainty of log T, per doubling beyond the measured range.
constexpr double kEachDoubling = 0.1;
constexpr double kBatchBeyondMost = 10.0;

bool agree(const std::string& asked, const std::string& known) {
  return asked.empty() || known.empty() || asked == known;
}

std::string or_unnamed(const std::string& name) {
  return name.empty() ? "unnamed" : "'" + name + "'";
}

// The values of a field over all groups, such as "sync, async".
std::string known(const CalibratedProfile& profile, std::string CalibratedGroup::*name) {
  std::set<std::string> names;
  for (const CalibratedGroup& group : profile.groups) {
    names.insert(or_unnamed(group.*name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The group to predict with, or null and the reason.
const CalibratedGroup* group_for(const CalibratedProfile& profile,
                                 const Configuration& at,
                                 std::string& refusal) {
  std::vector<const CalibratedGroup*> found;
  bool policy_known = false;
  for (const CalibratedGroup& group : profile.groups) {
    if (at.policy == group.policy && at.topology == group.topology) {
      return &group;
    }
    policy_known |= agree(at.policy, group.policy);
    if (agree(at.policy, group.policy) && agree(at.topology, group.topology)) {
      found.push_back(&group);
    }
  }
  if (found.size() == 1) {
    return found.front();
  }
  const std::string policies = known(profile, &CalibratedGroup::policy);
  const std::string topologies = known(profile, &CalibratedGroup::topology);
  if (!found.empty()) {
    refusal = fmt::format(
        "several were calibrated, name one: policy {}, topology {}", policies, topologies);
  } else if (!policy_known) {
    refusal = fmt::format("policy {} was not calibrated, only {}", or_unnamed(at.policy), policies);
  } else {
    refusal =
        fmt::format("topology {} was not calibrated, only {}", or_unnamed(at.topology), topologies);
  }
  return nullptr;
}

// The factor by which a value is outside a range; 1 inside.
double beyond(double value, double least, double most) {
  return std::max({1.0, value / most, least / value});
}

// The parts of the interval other than the laws of growth.
struct Doubt {
  // Squared uncertainty of log T in either direction; independent, so squares add.
  double squares = 0.0;
  bool open = false;  // The interval has no upper end.
  std::vector<std::string> warnings;

  void add(double off) { squares += off * off; }
  void add_doublings(double factor) { add(kEachDoubling * std::log2(factor)); }
};

void doubt_batch(const CalibratedGroup& group, double batch, Doubt& doubt) {
  const Seen& seen = group.seen;
  const double factor = beyond(batch, seen.batch_min, seen.batch_max);
  if (factor <= 1.0) {
    return;
  }
  if (seen.batch_min == seen.batch_max) {
    // Half of the computing was assumed to grow with the batch; the truth may be none, or all.
    doubt.add(std::log(factor));
    doubt.warnings.push_back(
        fmt::format("batch {:g}: only {:g} was measured, so how time depends on it is not known",
                    batch,
                    seen.batch_max));
    return;
  }
  doubt.add_doublings(factor);
  doubt.warnings.push_back(fmt::format(
      "batch {:g}: only {:g} to {:g} were measured", batch, seen.batch_min, seen.batch_max));
}

void doubt_workers(const CalibratedGroup& group, const Configuration& at, Doubt& doubt) {
  const Seen& seen = group.seen;
  if (at.workers == 1 && seen.workers_min > 1) {
    doubt.add_doublings(seen.workers_min);
    doubt.warnings.push_back(fmt::format("1 worker: the fewest measured are {}", seen.workers_min));
  }
  if (at.nodes > 1 && seen.across_workers_max == 0) {
    doubt.open = true;
    doubt.warnings.push_back(seen.local_workers_max == 0
                                 ? "several nodes: no such row was measured, so the cost of the "
                                   "network is left out"
                                 : "several nodes: no such row was measured, so the extra cost of "
                                   "the network is left out");
  } else if (at.nodes == 1 && at.workers > 1 && seen.local_workers_max == 0) {
    doubt.open |= seen.across_workers_max == 0;
    doubt.warnings.push_back(seen.across_workers_max == 0
                                 ? "several workers: no such row was measured, so the cost of "
                                   "synchronising is left out"
                                 : "several workers on one node: no such row was measured, so "
                                   "the cost across nodes is assumed");
  }
  if (at.workers > seen.workers_max) {
    const double factor = static_cast<double>(at.workers) / seen.workers_max;
    doubt.add_doublings(factor);
    doubt.warnings.push_back(
        fmt::format("more workers than were measured, {} at most", seen.workers_max));
  }
  const std::uint32_t here = workers_per_node(at);
  if (here > seen.workers_per_node_max) {
    doubt.add_doublings(static_cast<double>(here) / seen.workers_per_node_max);
    doubt.warnings.push_back(fmt::format("more workers a node than were measured, {} at most",
                                         seen.workers_per_node_max));
  }
}

void doubt_names(const CalibratedGroup& group, const Configuration& at, Doubt& doubt) {
  const auto unsaid = [&doubt](const char* what, const std::string& asked, const std::string& has) {
    if (!asked.empty() && has.empty()) {
      doubt.warnings.push_back(
          fmt::format("{} '{}': the rows of the calibration do not name one", what, asked));
    }
  };
  unsaid("policy", at.policy, group.policy);
  unsaid("topology", at.topology, group.topology);
}

}  // namespace

IterationPrediction predict(const CalibratedProfile& profile, const Configuration& configuration) {
  IterationPrediction prediction;
  const CalibratedGroup* const group = group_for(profile, configuration, prediction.refusal);
  if (group == nullptr) {
    return prediction;
  }
  const double batch = configuration.batch_per_worker;
  if (beyond(batch, group->seen.batch_min, group->seen.batch_max) > kBatchBeyondMost) {
    prediction.refusal =
        fmt::format("batch {:g} is too far from the {:g} to {:g} that were measured",
                    batch,
                    group->seen.batch_min,
                    group->seen.batch_max);
    return prediction;
  }
  Doubt doubt;
  doubt.add(group->spread);
  doubt_names(*group, configuration, doubt);
  doubt_workers(*group, configuration, doubt);
  doubt_batch(*group, batch, doubt);
  const double seconds = iteration_seconds(group->cost, configuration);
  double low = seconds;
  double high = seconds;
  for (const IterationCost& other : group->others) {
    low = std::min(low, iteration_seconds(other, configuration));
    high = std::max(high, iteration_seconds(other, configuration));
  }
  const double off = std::sqrt(doubt.squares);
  prediction.seconds = seconds;
  prediction.low = seconds * std::exp(-std::hypot(off, std::log(seconds / low)));
  if (!doubt.open) {
    prediction.high = seconds * std::exp(std::hypot(off, std::log(high / seconds)));
  }
  prediction.sync_bound =
      sync_seconds(group->cost, configuration) > compute_seconds(group->cost, batch);
  prediction.warnings = std::move(doubt.warnings);
  return prediction;
}

Errors errors_of(std::span<const Row> rows, std::span<const IterationPrediction> predictions) {
  CHECK(rows.size() == predictions.size());
  std::vector<double> errors;
  errors.reserve(rows.size());
  std::size_t within = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const IterationPrediction& predicted = predictions[i];
    const std::optional<double>& measured = rows[i].iteration_seconds;
    if (predicted.seconds && measured) {
      errors.push_back(std::fabs(*predicted.seconds / *measured - 1.0));
      within += *measured >= predicted.low && (!predicted.high || *measured <= *predicted.high);
    }
  }
  if (errors.empty()) {
    return {};
  }
  return {.measured = errors.size(),
          .median = quantile(errors, 0.5),
          .ninety = quantile(errors, kNinety),
          .worst = *std::ranges::max_element(errors),
          .within = static_cast<double>(within) / static_cast<double>(errors.size())};
}

}  // namespace outpace::throughput

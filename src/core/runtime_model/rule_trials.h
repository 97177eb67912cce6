// Tries several runtime models and rules of a cutoff on one trace, beside what needs no model.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime_model/cutoff.h"
#include "runtime_model/deep_weights.h"
#include "runtime_model/imputing.h"
#include "runtime_model/trial.h"

namespace outpace::runtime_model {

struct RulesToTry {
  std::vector<std::string> models;
  std::vector<Decide> decide;
  std::vector<Imputation> imputation{Imputation::kNone};
  std::span<const DeepWeights> fitted{};  // Each model gets those that it takes, or none.
};

struct TriedRule {
  std::string model;             // Or sync, best_fixed, oracle.
  std::optional<Decide> decide;  // Nothing for those three.
  Imputation imputation = Imputation::kNone;
  TrialResult result;
};

// First sync, which waits for all, and best_fixed, the best count in hindsight; then each model
// under each rule with each imputation; last oracle, the best count of each iteration. `how.watch`
// sees the first model under the last rule with the first imputation alone. Throws a usage error
// for a model that cannot be made before it tries anything.
[[nodiscard]] std::vector<TriedRule> try_rules(const Trace& trace,
                                               const RulesToTry& rules,
                                               const TrialOptions& how);

}  // namespace outpace::runtime_model

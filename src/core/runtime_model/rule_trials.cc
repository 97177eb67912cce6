#include "runtime_model/rule_trials.h"

#include <algorithm>
#include <utility>

#include "runtime_model/model_list.h"

namespace outpace::runtime_model {
namespace {

// Null if none is of the model.
const DeepWeights* weights_of(const std::string& model, std::span<const DeepWeights> fitted) {
  const auto its = std::ranges::find_if(
      fitted, [&](const DeepWeights& weights) { return takes(model, weights.shape); });
  return its == fitted.end() ? nullptr : &*its;
}

}  // namespace

std::vector<TriedRule> try_rules(const Trace& trace,
                                 const RulesToTry& rules,
                                 const TrialOptions& how) {
  for (const std::string& model : rules.models) {
    (void)make_model(model, trace.workers(), weights_of(model, rules.fitted));
  }
  const std::size_t from = how.fit_rows;
  const auto without_model = [&](const char* name, TrialResult result) {
    return TriedRule{.model = name, .decide = std::nullopt, .result = std::move(result)};
  };
  std::vector<TriedRule> tried;
  tried.push_back(without_model("sync", try_fixed(trace, from, trace.workers())));
  tried.push_back(without_model("best_fixed", try_fixed(trace, from, best_fixed(trace, from))));
  for (const std::string& model : rules.models) {
    const DeepWeights* const weights = weights_of(model, rules.fitted);
    for (const Decide decide : rules.decide) {
      for (const Imputation imputation : rules.imputation) {
        TrialOptions options = how;
        options.reveal = imputation == Imputation::kTrue;
        if (model != rules.models.front() || decide != rules.decide.back() ||
            imputation != rules.imputation.front()) {
          options.watch = nullptr;
        }
        Cutoff cutoff(impute(make_model(model, trace.workers(), weights), imputation),
                      {.decide = decide});
        tried.push_back({.model = model,
                         .decide = decide,
                         .imputation = imputation,
                         .result = try_cutoff(trace, cutoff, options)});
      }
    }
  }
  tried.push_back(without_model("oracle", try_oracle(trace, from)));
  return tried;
}

}  // namespace outpace::runtime_model

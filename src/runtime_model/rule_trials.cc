#include "runtime_model/rule_trials.h"

#include <algorithm>
#include <utility>

#include "runtime_model/model_list.h"

namespace outpace::runtime_model {
namespace {

std::unique_ptr<RuntimeModel> make_tried(const std::string& model,
                                         Imputation imputation,
                                         std::uint32_t workers,
                                         std::span<const DeepWeights> fitted) {
  const auto its = std::ranges::find_if(
      fitted, [&](const DeepWeights& weights) { return takes(model, weights.shape); });
  return impute(make_model(model, workers, its == fitted.end() ? nullptr : &*its), imputation);
}

}  // namespace

std::vector<TriedRule> try_rules(const Trace& trace,
                                 const RulesToTry& rules,
                                 const TrialOptions& how) {
  for (const std::string& model : rules.models) {
    (void)make_tried(model, Imputation::kNone, trace.workers(), rules.fitted);
  }
  const std::size_t from = how.fit_rows;
  const auto without_model = [&](const char* name, TrialResult result) {
    return TriedRule{.model = name, .decide = std::nullopt, .result = std::move(result)};
  };
  std::vector<TriedRule> tried;
  tried.push_back(without_model("sync", try_fixed(trace, from, trace.workers())));
  tried.push_back(without_model("best_fixed", try_fixed(trace, from, best_fixed(trace, from))));
  for (const std::string& model : rules.models) {
    for (const Decide decide : rules.decide) {
      for (const Imputation imputation : rules.imputation) {
        TrialOptions options = how;
        options.reveal = imputation == Imputation::kTrue;
        if (model != rules.models.front() || decide != rules.decide.back() ||
            imputation != rules.imputation.front()) {
          options.watch = nullptr;
        }
        Cutoff cutoff(make_tried(model, imputation, trace.workers(), rules.fitted),
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

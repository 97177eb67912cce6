#include "runtime_model/rule_trials.h"

#include <utility>

#include "runtime_model/model_list.h"

namespace outpace::runtime_model {
namespace {

std::unique_ptr<RuntimeModel> make_tried(const std::string& model, const RulesToTry& rules) {
  auto made = make_model(model, rules.deep);
  if (rules.imputation) {
    made = std::make_unique<Imputing>(std::move(made), *rules.imputation);
  }
  return made;
}

}  // namespace

std::vector<TriedRule> try_rules(const Trace& trace,
                                 const RulesToTry& rules,
                                 const TrialOptions& how) {
  for (const std::string& model : rules.models) {
    (void)make_tried(model, rules);
  }
  const std::size_t from = how.fit_rows;
  std::vector<TriedRule> tried;
  tried.push_back({"sync", std::nullopt, try_fixed(trace, from, trace.workers())});
  tried.push_back({"best_fixed", std::nullopt, try_fixed(trace, from, best_fixed(trace, from))});
  for (std::size_t i = 0; i < rules.models.size(); ++i) {
    for (std::size_t k = 0; k < rules.decide.size(); ++k) {
      TrialOptions options = how;
      if (i != 0 || k + 1 != rules.decide.size()) {
        options.watch = nullptr;
      }
      Cutoff cutoff(make_tried(rules.models[i], rules), {.decide = rules.decide[k]});
      tried.push_back({rules.models[i], rules.decide[k], try_cutoff(trace, cutoff, options)});
    }
  }
  tried.push_back({"oracle", std::nullopt, try_oracle(trace, from)});
  return tried;
}

}  // namespace outpace::runtime_model

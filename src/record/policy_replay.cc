#include "record/policy_replay.h"

#include <memory>

#include "base/error.h"
#include "base/spec.h"
#include "invariants/decisions.h"
#include "invariants/violation.h"
#include "policy/catalogue.h"
#include "record/run_directory.h"
#include "record/runtime_model_file.h"

namespace outpace::record {

std::unique_ptr<policy::Policy> policy_of(const std::filesystem::path& decisions,
                                          const DecisionLogHeader& header) {
  const Spec spec = Spec::parse(header.policy);
  if (spec.name == "oracle") {
    throw usage_error(decisions.string() +
                      ":1: a run of the oracle, who knew what was to come: "
                      "it cannot be replayed");
  }
  policy::PolicyInputs inputs{.balance = header.balance};
  const auto fitted = decisions.parent_path() / kRuntimeModelName;
  if (std::filesystem::exists(fitted)) {
    inputs.fitted = std::make_shared<const runtime_model::DeepWeights>(read_runtime_model(fitted));
  }
  // Another one may have been set.
  return policy::make_settable_policy(spec, header.workers, inputs);
}

Replay replay(const std::filesystem::path& decisions) {
  DecisionLogReader log(decisions);
  Replay result{.header = log.header()};
  const DecisionLogHeader& header = log.header();
  const auto policy = policy_of(decisions, header);
  invariants::Decisions invariants(Spec::parse(header.policy), header.workers, header.balance);
  LoggedDecision logged;
  policy::Decision again;
  while (log.next(logged)) {
    policy->decide(logged.now, logged.event, again);
    const std::string recorded = to_text(logged.actions);
    const std::string replayed = to_text(again.actions);
    if (recorded != replayed) {
      result.difference = {.file = log.path(),
                           .line = log.line(),
                           .now = logged.now,
                           .event = to_text(logged.event),
                           .recorded = recorded,
                           .replayed = replayed};
      return result;
    }
    ++result.decisions;
    try {
      invariants.check(logged.now, logged.event, logged.actions);
    } catch (const invariants::Violation& violation) {
      result.broken = {
          .file = log.path(), .line = log.line(), .now = logged.now, .what = violation.what()};
      return result;
    }
  }
  result.cut_short = log.cut_short();
  result.gap = log.gap();
  return result;
}

}  // namespace outpace::record

#include "record/policy_replay.h"

#include <memory>
#include <variant>

#include "base/error.h"
#include "base/overloaded.h"
#include "base/spec.h"
#include "invariants/decisions.h"
#include "invariants/violation.h"
#include "policy/catalogue.h"
#include "record/run_directory.h"
#include "record/runtime_model_file.h"

namespace outpace::record {

ReplayedPolicy::ReplayedPolicy(const std::filesystem::path& decisions,
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
  policy_ = policy::make_settable_policy(spec, header.workers, inputs);
}

const policy::Decision* ReplayedPolicy::decide(const LoggedDecision& logged) {
  if (!can_come(logged.event)) {
    return nullptr;
  }
  policy_->decide(logged.now, logged.event, decision_);
  follow(logged.event);
  return &decision_;
}

ReplayedPolicy::Worker& ReplayedPolicy::worker(WorkerId id) {
  if (workers_.size() <= index(id)) {  // More may take part than were planned.
    workers_.resize(index(id) + 1);
  }
  return workers_[index(id)];
}

bool ReplayedPolicy::can_come(const policy::Event& event) {
  return std::visit(
      Overloaded{[&](const policy::WorkerJoined& joined) { return !worker(joined.worker).live; },
                 [&](const policy::WorkerLeft& left) { return worker(left.worker).live; },
                 [&](const policy::GradientArrived& one) { return worker(one.worker).open; },
                 [&](const policy::ReleaseEnded& one) { return worker(one.worker).open; },
                 [](const auto& /*of no worker*/) { return true; }},
      event);
}

void ReplayedPolicy::follow(const policy::Event& event) {
  std::visit(
      Overloaded{[&](const policy::WorkerJoined& joined) { worker(joined.worker).live = true; },
                 [&](const policy::WorkerLeft& left) { worker(left.worker) = {}; },
                 [&](const policy::GradientArrived& one) { worker(one.worker).open = false; },
                 [&](const policy::ReleaseEnded& one) { worker(one.worker).open = false; },
                 Ignoring<policy::TimerFired, policy::Measured, policy::PolicySet>{}},
      event);
  for (const policy::Action& action : decision_.actions) {
    if (const auto* released = std::get_if<policy::Release>(&action)) {
      worker(released->worker).open = true;
    }
  }
}

Replay replay(const std::filesystem::path& decisions) {
  DecisionLogReader log(decisions);
  Replay result{.header = log.header()};
  const DecisionLogHeader& header = log.header();
  ReplayedPolicy policy(decisions, header);
  invariants::Decisions invariants(Spec::parse(header.policy), header.workers, header.balance);
  LoggedDecision logged;
  while (log.next(logged)) {
    const policy::Decision* again = policy.decide(logged);
    if (again == nullptr) {
      result.broken = {
          .file = log.path(),
          .line = log.line(),
          .now = logged.now,
          .what = "this event cannot come: its worker is not there, or has no release"};
      return result;
    }
    const std::string recorded = to_text(logged.actions);
    const std::string replayed = to_text(again->actions);
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

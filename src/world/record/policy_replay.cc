#include "record/policy_replay.h"

#include <filesystem>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/memory_archive.h"
#include "base/overloaded.h"
#include "base/spec.h"
#include "invariants/decisions.h"
#include "invariants/violation.h"
#include "policy/catalogue.h"
#include "policy/in_turn.h"
#include "record/run_decisions.h"
#include "record/runtime_model_file.h"

namespace outpace::record {
namespace {

policy::PolicyInputs inputs_of(const DecisionLogHeader& header) {
  return {.balance = header.balance,
          .may_balance = header.may_balance,
          .scale_invariant = header.scale_invariant,
          .local_steps = header.local_steps};
}

}  // namespace

ReplayedPolicy::ReplayedPolicy(const RunDirectory& files, const DecisionLogHeader& header)
    : spec_(Spec::parse(header.policy)), planned_(header.workers), inputs_(inputs_of(header)) {
  const std::string log = files.decisions().string();
  if (spec_.name == "oracle") {
    throw usage_error(log +
                      ":1: a run of the oracle, who knew what was to come: "
                      "it cannot be replayed");
  }
  if (header.goes_on && header.goes_on->version != Version{0}) {
    throw usage_error(fmt::format(
        "{}: server {} went on from update {}, and the servers before it kept no decisions: what "
        "the policy knew then is not there, and it cannot be replayed",
        log,
        header.goes_on->generation,
        count(header.goes_on->version)));
  }
  if (std::filesystem::exists(files.runtime_model())) {
    inputs_.fitted = std::make_shared<const runtime_model::DeepWeights>(
        read_runtime_model(files.runtime_model()));
  }
  policy_ = make();
}

std::unique_ptr<policy::Policy> ReplayedPolicy::make() const {
  // Another one may have been set.
  return policy::make_settable_policy(spec_, planned_, inputs_);
}

void ReplayedPolicy::another_server() {
  MemoryArchive kept;
  policy_->keep(kept);
  kept.rewind();
  policy_ = make();
  policy_->keep(kept);
  workers_.clear();
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

Replay replay(const RunDirectory& files) {
  RunDecisions log(files);
  Replay result{.header = log.header(), .policy = log.header().policy};
  const DecisionLogHeader& header = log.header();
  ReplayedPolicy policy(files, header);
  invariants::Decisions invariants(Spec::parse(header.policy), header.workers, inputs_of(header));
  LoggedDecision logged;
  while (log.next(logged)) {
    if (const auto& from = log.goes_on()) {
      if (invariants.commits() != count(from->version) && log.present().goes_on) {
        result.gap = fmt::format(
            "{}: a gap: server {} went on from update {}, and decisions before it were lost when "
            "the one before died; none after them is read",
            log.path().string(),
            from->generation,
            count(from->version));
        return result;
      }
      policy.another_server();
      invariants.restarted();
    }
    if (const auto* set = std::get_if<policy::PolicySet>(&logged.event)) {
      result.policy = policy::in_turn(std::move(result.policy), set->policy);
    }
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
  if (log.cut_short()) {
    result.cut_short.push_back(log.path());
  }
  result.gap = log.gap();
  return result;
}

}  // namespace outpace::record

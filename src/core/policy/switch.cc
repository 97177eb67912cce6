#include "policy/switch.h"

#include <utility>

#include "base/error.h"
#include "base/overloaded.h"

namespace outpace::policy {
namespace {

// What an evaluator or the server measures, if it is what the condition watches.
std::optional<double> measured_value(Watched what, const Event& event) {
  const auto* measured = std::get_if<Measured>(&event);
  if (measured == nullptr) {
    return std::nullopt;
  }
  const bool same = (what == Watched::kTrainingLoss && measured->what == Measure::kTrainingLoss) ||
                    (what == Watched::kTestLoss && measured->what == Measure::kTestLoss) ||
                    (what == Watched::kTestAccuracy && measured->what == Measure::kTestAccuracy);
  return same ? std::optional(measured->value) : std::nullopt;
}

}  // namespace

Switch::Switch(const Spec& policy, std::uint32_t workers, const PolicyInputs& inputs)
    : workers_planned_(workers),
      inputs_{.balance = std::nullopt,
              .balanced_outside = inputs.balanced_outside || inputs.balance,
              .may_balance = inputs.may_balance,
              .scale_invariant = inputs.scale_invariant,
              .fitted = inputs.fitted,
              .local_steps = inputs.local_steps} {
  plan(policy);
  advance();
}

void Switch::plan(const Spec& policy) {
  std::vector<Coming> coming;
  for (Phase& phase : chain_of(policy)) {
    coming.push_back({make_policy(phase.policy, workers_planned_, inputs_), phase.until});
  }
  coming_ = std::move(coming);
  planned_ = policy.text;
  next_ = 0;
}

void Switch::advance() {
  present_ = std::move(coming_[next_].policy);
  until_ = coming_[next_].until;
  phase_ = planned_;
  at_ = next_;
  ++next_;
}

// If a policy was set meanwhile, two specs count: that of the present policy, and the new one.
void Switch::keep(Archive& archive) {
  std::string phase = phase_;
  std::uint32_t at = at_;
  std::string planned = planned_;
  std::uint32_t next = next_;
  archive("phase", phase)("at", at)("planned", planned)("next", next);
  archive("draining", draining_)("updates", updates_);
  if (archive.reads()) {
    plan(Spec::parse(phase));
    go_to(at);
    advance();
    if (planned != phase) {
      plan(Spec::parse(planned));
    }
    go_to(next);
  }
  archive.group("present", [&] { present_->keep(archive); });
}

void Switch::go_to(std::uint32_t phase) {
  if (phase > coming_.size()) {
    throw Error(ExitCode::kUnreadable,
                "policy '" + planned_ + "' has no phase " + std::to_string(phase));
  }
  next_ = phase;
}

void Switch::decide(Time now, const Event& event, Decision& out) {
  if (const auto* set = std::get_if<PolicySet>(&event)) {
    out.clear();
    plan(Spec::parse(set->policy));
    draining_ = true;
  } else {
    take_in(event);
    present_->decide(now, event, out);
    follow(out);
    draining_ = draining_ || met(now, event);
  }
  if (draining_) {
    hold_back(out);
    if (computing_ == 0) {
      hand_over(now, out);
    } else {
      out.reason = {.why = Why::kSwitching, .a = static_cast<double>(computing_)};
    }
  }
  for (const Action& action : out.actions) {
    if (const auto* release = std::get_if<Release>(&action)) {
      workers_[release->worker].computing = true;
      ++computing_;
    }
  }
}

void Switch::take_in(const Event& event) {
  const auto ends = [&](WorkerId worker) {
    computing_ -= std::exchange(workers_[worker].computing, false) ? 1U : 0U;
  };
  std::visit(Overloaded{[&](const WorkerJoined& joined) { workers_.join(joined.worker); },
                        [&](const WorkerLeft& left) {
                          ends(left.worker);
                          workers_.leave(left.worker);
                        },
                        [&](const GradientArrived& gradient) { ends(gradient.worker); },
                        [&](const ReleaseEnded& ended) { ends(ended.worker); },
                        Ignoring<TimerFired, Measured, PolicySet>{}},
             event);
}

void Switch::follow(const Decision& decision) {
  for (const Action& action : decision.actions) {
    std::visit(Overloaded{[&](const Accept&) { uncommitted_ = true; },
                          [&](const Commit&) {
                            uncommitted_ = false;
                            ++updates_;
                          },
                          Ignoring<Drop, Release, Cancel, WakeAt, Switched>{}},
               action);
  }
}

bool Switch::met(Time now, const Event& event) const {
  if (!until_) {
    return false;
  }
  if (until_->what == Watched::kUpdates) {
    return until_->holds_at(static_cast<double>(updates_));
  }
  if (until_->what == Watched::kSeconds) {
    return until_->holds_at(to_seconds(now));
  }
  const auto value = measured_value(until_->what, event);
  return value && until_->holds_at(*value);
}

void Switch::hold_back(Decision& out) {
  std::erase_if(out.actions, [&](const Action& action) {
    // The old policy thinks that the workers held back are computing; what follows it is set.
    const auto* cancel = std::get_if<Cancel>(&action);
    return std::holds_alternative<Release>(action) || std::holds_alternative<Switched>(action) ||
           (cancel != nullptr && !workers_[cancel->worker].computing);
  });
}

void Switch::hand_over(Time now, Decision& out) {
  if (std::exchange(uncommitted_, false)) {
    out.actions.push_back(Commit{});
    ++updates_;
  }
  out.actions.push_back(Switched{.to = next_});
  advance();
  draining_ = false;
  out.reason = {.why = Why::kSwitched,
                .a = static_cast<double>(updates_),
                .b = static_cast<double>(workers_.live())};
  workers_.for_each([&](WorkerId worker, const Worker& /*state*/) {
    present_->decide(now, WorkerJoined{worker}, welcome_);
    out.actions.insert(out.actions.end(), welcome_.actions.begin(), welcome_.actions.end());
  });
}

}  // namespace outpace::policy

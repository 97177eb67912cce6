#include "swarm/invariant_checker.h"

#include <algorithm>
#include <utility>

#include "base/spec.h"
#include "invariants/violation.h"
#include "policy/balance.h"
#include "swarm/seed_run.h"
#include "swarm/words.h"
#include "worker/ledger.h"

namespace outpace::swarm {
namespace {

using invariants::hold;

constexpr std::size_t kEventsKept = 20;

// Hearts beat, and silence means something, only with a fault that takes them.
std::optional<Duration> silence_of(const Plan& plan) {
  const bool beat = std::any_of(plan.faults.begin(), plan.faults.end(), [&](const auto& fault) {
    return sim::takes_heartbeats(sim::parse_fault(fault, plan.workers));
  });
  return beat ? std::optional(plan.heartbeat_timeout) : std::nullopt;
}

// Workers count as stalled only with a fault that lets one hang.
std::optional<Duration> progress_of(const Plan& plan) {
  const bool hangs = std::any_of(plan.faults.begin(), plan.faults.end(), [&](const auto& fault) {
    return sim::parse_fault(fault, plan.workers).kind == sim::Fault::Kind::kHang;
  });
  return hangs ? plan.progress_timeout : std::nullopt;
}

std::optional<policy::BalanceOptions> balance_of(const Plan& plan) {
  return plan.balance ? std::optional(policy::BalanceOptions{}) : std::nullopt;
}

}  // namespace

InvariantChecker::InvariantChecker(const Plan& plan, bool keeps_events)
    : plan_(plan),
      keeps_events_(keeps_events),
      admission_(plan.ledger ? worker::Ledger(plan.examples).manifest() : protocol::Manifest{}),
      known_(nothing()) {}

InvariantChecker::Known InvariantChecker::nothing() const {
  Known known{.decisions = {Spec::parse(plan_.policy),
                            plan_.workers,
                            {.balance = balance_of(plan_), .local_steps = plan_.local_steps}},
              .coordination = {plan_.workers, silence_of(plan_), progress_of(plan_)},
              .state = {},
              .audit = std::nullopt};
  if (plan_.ledger) {
    known.audit.emplace(plan_.examples, plan_.seed, plan_.with_replacement);
  }
  return known;
}

void InvariantChecker::restarted(Time now) {
  if (keeps_events_) {
    keep(now, "another server goes on");
  }
  admission_.restarted();
  Known back = kept_ ? *kept_ : nothing();
  back.decisions.restarted();
  back.coordination.restarted();
  known_.emplace(std::move(back));
}

void InvariantChecker::decided(Time now,
                               const policy::Event& event,
                               const policy::Decision& decision) {
  if (keeps_events_) {
    keep(now, "decision on " + to_words(event) + ": " + to_words(decision));
  }
  ++decided_;
  known_->decisions.check(now, event, decision.actions);
}

void InvariantChecker::answered(Time now,
                                const server::Input& input,
                                const server::Effects& effects) {
  if (keeps_events_) {
    keep(now, to_words(input) + ": " + std::to_string(effects.size()) + " effects");
  }
  known_->coordination.check(now, input, std::exchange(decided_, 0), effects);
  for (const auto& used : known_->coordination.used()) {
    if (known_->audit) {
      known_->audit->used(used.ranges, used.weight);
    }
  }
  if (std::ranges::any_of(effects, [](const server::Effect& effect) {
        return std::holds_alternative<server::TakeCheckpoint>(effect);
      })) {
    kept_.emplace(*known_);
  }
}

void InvariantChecker::greeted(Time now, const admission::Input& input) {
  if (keeps_events_) {
    keep(now, to_words(input));
  }
  admission_.came(input);
}

void InvariantChecker::admitted(Time now, const admission::Effect& effect) {
  if (keeps_events_) {
    keep(now, to_words(effect));
  }
  admission_.check(effect);
}

bool InvariantChecker::after(Time now,
                             const server::Coordinator& coordinator,
                             const server::Shard* shard) {
  ++events_;
  admission_.at_rest();
  known_->coordination.at_rest(now, coordinator.live(), coordinator.started());
  known_->state.check(coordinator, shard == nullptr ? std::span<const float>{} : shard->weights());
  if (now < plan_.healed) {
    return false;
  }
  if (!healed_version_) {
    healed_version_ = known_->coordination.version();
  }
  const bool well = plan_.epochs == 0 && recovered();
  hold(well || now <= plan_.healed + plan_.recovery, "I9", [&] {
    return "all healed at " + std::to_string(to_seconds(plan_.healed)) + " s, at version " +
           std::to_string(*healed_version_) + ", and at " + std::to_string(to_seconds(now)) +
           " s the version is " + std::to_string(known_->coordination.version()) + "; " +
           who_did_not();
  });
  return well && events_ >= kEventsLeast;
}

void InvariantChecker::ended(const sim::ClusterResult& result) {
  admission_.at_rest();  // Those that came late were answered.
  const bool as_planned =
      result.code == ExitCode::kDone && (plan_.epochs == 0 || result.why == "epochs done");
  hold(as_planned, "I5", [&] { return "the run ended: " + result.why; });
  const server::Statistics& counted = result.statistics;
  if (plan_.epochs > 0) {
    hold(counted.examples_used_per_epoch_min == 1 && counted.examples_used_per_epoch_max == 1 &&
             counted.examples_applied + counted.examples_left_out == plan_.epochs * plan_.examples,
         "I1",
         [&] {
           return std::to_string(counted.examples_applied) + " examples were applied in " +
                  std::to_string(plan_.epochs) + " epochs of " + std::to_string(plan_.examples);
         });
  }
  if (known_->audit) {
    known_->audit->check(result.weights, counted.updates);
  }
}

void InvariantChecker::keep(Time now, const std::string& text) {
  last_events_.push_back(std::to_string(to_seconds(now)) + " s  " + text);
  if (last_events_.size() > kEventsKept) {
    last_events_.pop_front();
  }
}

bool InvariantChecker::is_well(std::uint32_t worker) const {
  const invariants::Coordination::Member& member = known_->coordination.members()[worker];
  const bool left =
      std::find(plan_.leavers.begin(), plan_.leavers.end(), worker) != plan_.leavers.end();
  return left ? !member.live
              : member.live && !member.stalled_at && member.version > *healed_version_;
}

bool InvariantChecker::recovered() const {
  // Everybody's turn has come round: more than one that was on its way is used.
  if (known_->coordination.version() < *healed_version_ + plan_.workers) {
    return false;
  }
  for (std::uint32_t worker = 0; worker < plan_.workers; ++worker) {
    if (!is_well(worker)) {
      return false;
    }
  }
  return true;
}

std::string InvariantChecker::who_did_not() const {
  std::string found = "not well:";
  for (std::uint32_t worker = 0; worker < plan_.workers; ++worker) {
    if (!is_well(worker)) {
      found += " worker " + std::to_string(worker);
    }
  }
  return found;
}

}  // namespace outpace::swarm

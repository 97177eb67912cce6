// The coordinator's other half: what the actions of a decision do, and what is turned away.

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "server/coordinator.h"

namespace outpace::server {
namespace {

constexpr std::uint32_t kBadInARow = 8;  // Mini-batches that may be refused for their own fault.
constexpr std::uint64_t kStarvedWarning = 20;  // Unused mini-batches in a row before a warning.
constexpr std::uint32_t kStarvedNamed = 4;     // Workers that get a warning, one each.

bool is_commit(const policy::Action& action) {
  return std::holds_alternative<policy::Commit>(action);
}

}  // namespace

void Coordinator::carry_out(Time now, const policy::Decision& decision, Effects& out) {
  for (const policy::Action& action : decision.actions) {
    std::visit(Overloaded{[&](const policy::Accept& accepted) { accept(accepted, out); },
                          [&](const policy::Drop& dropped) { drop(dropped, out); },
                          [&](const policy::Commit&) { commit(now, out); },
                          [&](const policy::Release& released) { release(now, released, out); },
                          [&](const policy::Cancel& cancelled) { cancel(cancelled, out); },
                          [&](const policy::WakeAt& wake) {
                            policy_timer_ = *started_ + wake.time.time_since_epoch();
                          },
                          [&](const policy::Switched& switched) { switch_to(switched.to, out); }},
               action);
    // The last gradient that --iterations allows still becomes an update, if one is due.
    if (!std::holds_alternative<policy::Accept>(action) ||
        std::none_of(decision.actions.begin(), decision.actions.end(), is_commit)) {
      check_limits(now, out);
    }
    if (finished_) {
      return;
    }
  }
}

// How gradients are weighed changes with the policy. If its own rule then says how far an update
// goes, the learning rate's scale has that policy's update for its unit; beside a rule that was
// given the unit stays.
void Coordinator::switch_to(std::uint32_t phase, Effects& out) {
  rules_.switch_to(phase);
  if (!options_.staleness) {
    rate_.nominal_examples =
        std::uint64_t{policy_->nominal_cutoff(options_.workers)} * whole_lease();
  }
  out.emplace_back(Switched{version_, phase, staleness().name()});
  if (auto misfit = rules_.misfit()) {
    out.emplace_back(Warn{std::move(*misfit)});
  }
}

void Coordinator::accept(const policy::Accept& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  CHECK(!member.answered && member.sequence == action.release && std::isfinite(action.weight));
  if (options_.fed && member.ranges.empty()) {
    return drop({action.worker, action.release, policy::Why::kAfterCutoff}, out);
  }
  const std::uint64_t staleness = count(version_) - count(member.version);
  const update::StalenessRule::Round round{.live = live(), .gradients = nominal_};
  out.emplace_back(Accept{.worker = action.worker,
                          .sequence = action.release,
                          .weight = action.weight * rules_.staleness().weight(staleness, round),
                          .examples = member.examples});
  // Written where it stays: a copy would read wide what was just written narrow, which takes the
  // processor longer than all else here.
  AppliedGradient& accepted = accepted_.emplace_back();
  accepted.worker = action.worker;
  accepted.staleness = staleness;
  accepted.examples = member.examples;
  accepted.partial = member.partial;
  accepted.loss = member.loss;
  if (const auto told = covered_.find(action.worker); told == covered_.end()) {
    move_head(member.ranges, member.examples, accepted_ranges_);
  } else {
    const protocol::Ranges& covers = told->second.covers;
    accepted_ranges_.insert(accepted_ranges_.end(), covers.begin(), covers.end());
    member.ranges = std::move(told->second.rest);
  }
  ++iterations_;
  turned_away_in_a_row_ = 0;
  filtered_in_a_row_ = 0;
  turned_away_.clear();
  member.turned_away = false;
  send_verdict(member, action.worker, protocol::Outcome::kAccepted, std::nullopt, out);
  end_release(member, action.worker, /*in_vain=*/false, out);
}

void Coordinator::drop(const policy::Drop& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  CHECK(!member.answered && member.sequence == action.release);
  statistics_.dropped(action.worker);
  ++iterations_;
  out.emplace_back(Forget{action.worker});
  send_verdict(
      member, action.worker, protocol::Outcome::kDropped, policy::to_words(action.why), out);
  end_release(member, action.worker, /*in_vain=*/true, out);
}

void Coordinator::commit(Time now, Effects& out) {
  if (options_.fed) {
    return hand_in(now, out);
  }
  CHECK(!accepted_.empty());
  std::uint64_t examples = 0;
  for (const AppliedGradient& gradient : accepted_) {
    examples += gradient.examples;
  }
  StepWeights step{.rate = rate_.of_update(examples, statistics().examples_applied)};
  if (rules_.asynchronous()) {
    step.share = std::min(1.0, static_cast<double>(accepted_.size()) / std::max(1U, live()));
  }
  if (policy_->asks_for_norms()) {
    step.norms_for = next(version_);
  }
  out.emplace_back(step);
  leases_.use(accepted_ranges_);
  failed_.forget(accepted_ranges_);
  version_ = next(version_);
  statistics_.updated(run_time(now), accepted_);
  tell_epochs();
  accepted_.clear();
  accepted_ranges_.clear();
  const std::optional<double>& loss = statistics().training_loss;
  if (loss && policy_->asks_for_training_loss()) {
    enqueue(policy::Measured{policy::Measure::kTrainingLoss, *loss, version_});
  }
  const CheckpointEvery& due = options_.checkpoint_every;
  checkpoint_due_ = checkpoint_due_ ||
                    (due.updates > 0 && count(version_) >= last_checkpoint_ + due.updates) ||
                    (due.time > Duration{} && now - *last_checkpoint_at_ >= due.time);
  const std::uint64_t applied = statistics().examples_applied;
  if (applied >= next_snapshot_) {
    const std::uint64_t every = options_.evaluate_every;
    next_snapshot_ = (applied / every + 1) * every;
    out.emplace_back(TakeSnapshot{version_, applied});
  }
}

void Coordinator::tell_epochs() {
  statistics_.epochs({.complete = leases_.epochs_complete(),
                      .used_min = leases_.used_min(),
                      .used_max = leases_.used_max()});
}

void Coordinator::release(Time now, const policy::Release& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  CHECK(member.state == State::kIdle && action.share > 0.0 && action.share <= policy::kShareMost);
  if (options_.fed && feed_state_ == FeedState::kNone) {
    deferred_.push_back(action);
    return;
  }
  lease(member, action);
  if (member.ranges.empty()) {
    member.state = State::kParked;
    parked_.insert({member.in_vain, action.worker});
    enqueue(policy::WorkerLeft{action.worker, policy::Departure::kDrained});
    return;
  }
  member.state = State::kComputing;
  member.sequence = Sequence{++sequences_};
  member.version = version_;
  member.released = now;
  member.cancelled = false;
  stall_check_ = std::min(stall_check_, now + stall_rule_.least());
  emplace<Send>(out,
                action.worker,
                protocol::Release{.sequence = member.sequence,
                                  .version = version_,
                                  .nominal = batch_,
                                  .may_keep_part = feed_keeps_part_ || policy_->asks_for_parts(),
                                  .now = run_time(now),
                                  .ranges = member.ranges,
                                  .ahead = member.ahead,
                                  .inner_rate = inner_rate(),
                                  .kept = checkpoint_due_});
}

double Coordinator::inner_rate() const {
  const std::optional<LocalSteps>& local = options_.local_steps;
  return local ? local->rate * local->schedule.factor(statistics().examples_applied) : 0.0;
}

void Coordinator::lease(Member& member, const policy::Release& action) {
  CHECK(member.ranges.empty());
  const std::uint64_t whole = std::uint64_t{whole_lease()} * member.stands_for;
  std::uint64_t wanted =
      action.share == 1.0
          ? whole
          : std::max<std::uint64_t>(1,
                                    static_cast<std::uint64_t>(
                                        std::llround(action.share * static_cast<double>(whole))));
  if (options_.fed && leases_.left() == wanted + 1) {
    ++wanted;  // The last example does not go alone: as in Leases.
  }
  const bool own = may_take_its_own(member);
  if (!member.ahead.empty()) {
    member.ranges = std::move(member.ahead.front());
    member.ahead.erase(member.ahead.begin());
  } else {
    leases_.take(action.worker, wanted, member.ranges, own);
  }
  if (member.ranges.empty()) {  // The run's last examples: nobody keeps any for later.
    for (std::size_t worker = 0; worker < members_.size(); ++worker) {
      give_back_ahead(members_[worker], WorkerId{static_cast<std::uint32_t>(worker)});
    }
    leases_.take(action.worker, wanted, member.ranges, own);
  }
  while (member.ahead.size() < member.ahead_most &&
         leases_.fresh_left((live() + 1) * std::uint64_t{whole_lease()})) {
    leases_.take(action.worker, wanted, member.ahead.emplace_back(), own);
  }
}

void Coordinator::give_back_ahead(Member& member, WorkerId worker) {
  for (const protocol::Ranges& later : member.ahead) {
    leases_.give_back(worker, later);
  }
  member.ahead.clear();
}

void Coordinator::cancel(const policy::Cancel& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  if (member.state == State::kComputing && !member.cancelled) {
    member.cancelled = true;
    emplace<Send>(out, action.worker, protocol::Cancel{member.sequence, action.keep_part});
  }
}

// The release has had its answer; what is left of its ranges goes back.
void Coordinator::end_release(Member& member, WorkerId worker, bool in_vain, Effects& out) {
  member.answered = true;
  member.stalls_in_a_row = member.state == State::kStalled ? member.stalls_in_a_row : 0;
  member.state = State::kIdle;
  ++member.ended;
  if (!member.ranges.empty()) {
    leases_.give_back(worker, member.ranges);
    member.ranges.clear();
  }
  member.in_vain = in_vain ? member.in_vain + 1 : 0;
  statistics_.ended(worker, member.in_vain);
  if (member.in_vain == kStarvedWarning && !std::exchange(member.warned_of, true) &&
      ++warned_of_ <= kStarvedNamed) {
    out.emplace_back(
        Warn{name(worker) + " is starved: nothing of its last " + std::to_string(kStarvedWarning) +
             " mini-batches was used" +
             (warned_of_ < kStarvedNamed ? "" : "; further starved workers are not reported")});
  }
}

void Coordinator::turn_away(Member& member,
                            WorkerId worker,
                            update::Judgement judgement,
                            Effects& out) {
  const bool filtered = update::is_filtered(judgement);
  statistics_.turned_away(worker, judgement);
  ++iterations_;
  // These two judgements pass as soon as other workers' gradients come.
  const bool passes =
      judgement == update::Judgement::kTooEarly || judgement == update::Judgement::kTooOften;
  member.turned_away = true;
  // A mini-batch that nobody can compute is refused again and again: that is one, and no
  // divergence. But if many different ones are, with none accepted in between, it is not the
  // examples' fault.
  const bool diverges = turned_away_in_a_row_ >= std::max(kBadInARow, 2U * live());
  FailedExamples::Outcome failed;
  if (!filtered && !diverges) {
    failed = fail_examples(member, worker);
  }
  if (!passes && (filtered || diverges || failed.fresh)) {
    ++turned_away_in_a_row_;
    filtered_in_a_row_ += filtered ? 1 : 0;
    turned_away_.insert(worker);
  }
  out.emplace_back(Forget{worker});
  send_verdict(member,
               worker,
               filtered ? protocol::Outcome::kDropped : protocol::Outcome::kRefused,
               update::to_words(judgement),
               out);
  end_release(member, worker, /*in_vain=*/true, out);
  leave_out(std::move(failed.left_out), "their gradient is not finite on any worker", out);
}

FailedExamples::Outcome Coordinator::fail_examples(Member& member, WorkerId worker) {
  member.turned_away = true;  // Another tries next, if one asks.
  FailedExamples::Outcome outcome = failed_.fail(worker, member.ranges, live());
  member.ranges = outcome.again;
  return outcome;
}

void Coordinator::leave_out(protocol::Ranges ranges, std::string why, Effects& out) {
  if (ranges.empty()) {
    return;
  }
  leases_.use(ranges);
  statistics_.left_out(total_size(ranges));
  tell_epochs();
  out.emplace_back(LeaveOut{std::move(ranges), std::move(why)});
}

void Coordinator::send_verdict(Member& member,
                               WorkerId worker,
                               protocol::Outcome outcome,
                               std::optional<std::string> why,
                               Effects& out) {
  if (!member.last_verdict) {
    member.last_verdict.emplace();
  }
  member.last_verdict->sequence = member.sequence;
  member.last_verdict->outcome = outcome;
  member.last_verdict->why = std::move(why);
  emplace<Send>(out, worker, *member.last_verdict);
}

}  // namespace outpace::server

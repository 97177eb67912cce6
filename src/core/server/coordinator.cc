#include "server/coordinator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/prefetch.h"

namespace outpace::server {
namespace {

// Its process is alive.
bool is_live(auto state) {
  return state != decltype(state){};
}

}  // namespace

Coordinator::Coordinator(const CoordinatorOptions& options,
                         std::unique_ptr<policy::Policy> policy,
                         Observer observer,
                         Time created)
    : options_(options),
      policy_(std::move(policy)),
      observer_(std::move(observer)),
      turned_away_max_(std::max<std::uint64_t>(100, 10ULL * options_.workers)),
      stall_rule_(options_.progress_timeout),
      batch_(options_.batch),
      rules_(options_.policy, options_.staleness),
      rate_{.base = options.rate,
            .schedule = options.schedule,
            .scale = options.rate_scale,
            .nominal_examples =
                std::uint64_t{policy_->nominal_cutoff(options_.workers)} * whole_lease()},
      leases_(options_.examples, options_.limits.epochs, options_.fed),
      next_snapshot_(options_.evaluate_every),
      awaited_(options_.workers - options_.later),
      start_patience_(options_.patience),
      too_few_since_(created),
      noise_(whole_lease()) {
  CHECK(options_.batch >= 1 && options_.workers > options_.later);
}

void Coordinator::prepare(WorkerId soon, WorkerId next) const {
  if (std::max(index(soon), index(next)) < members_.size()) {
    prefetch(members_[index(soon)]);
    statistics_.prefetch_counts(soon);
    policy_->prepare(soon);
    const Member& member = members_[index(next)];
    leases_.prepare(member.ranges);
    statistics_.prefetch_gradient(next, count(version_) - count(member.version));
  }
}

// ---- What workers said --------------------------------------------------------------------------

bool Coordinator::join(Time now, const Newcomer& newcomer, Effects& out) {
  const std::size_t at = index(newcomer.worker);
  if (at >= members_.size()) {
    members_.resize(at + 1);
  }
  Member& member = members_[at];
  if (is_live(member.state)) {
    if (member.incarnation >= newcomer.incarnation) {
      return false;
    }
    leave(now, newcomer.worker, member.incarnation, policy::Departure::kDead, out);
  }
  member.incarnation = newcomer.incarnation;
  member.ahead_most = newcomer.ahead;
  member.stands_for = newcomer.stands_for;
  member.state = State::kIdle;
  ++live_;
  member.last_heard = now;
  silence_check_ = std::min(silence_check_, now + options_.heartbeat_timeout);
  if (!started() && resumed_) {
    too_few_since_ = now;
  }
  member.last_verdict.reset();
  member.ended = 0;
  member.stalls_in_a_row = 0;
  statistics_.joined(newcomer.worker, newcomer.host);
  if (started()) {
    enqueue(policy::WorkerJoined{newcomer.worker});
    decide_all(now, out);
  } else if (live() >= awaited_) {
    start(now, out);
  }
  return true;
}

Statistics Coordinator::take_statistics() {
  CHECK(finished_);
  return statistics_.take();
}

void Coordinator::leave(
    Time now, WorkerId worker, std::uint32_t incarnation, policy::Departure how, Effects& out) {
  Member* member = present(worker, incarnation);
  if (member == nullptr) {
    return;
  }
  const State state = std::exchange(member->state, State::kAbsent);
  if (state != State::kStalled) {
    --live_;
  }
  statistics_.left(worker);
  if (state == State::kParked) {
    parked_.erase({member->in_vain, worker});
  }
  if (state == State::kComputing) {
    statistics_.lost(worker);
    leases_.give_back(worker, member->ranges);
    member->ranges.clear();
  }
  give_back_ahead(*member, worker);
  std::erase_if(deferred_, [&](const policy::Release& later) { return later.worker == worker; });
  out.emplace_back(ForgetWorker{worker});
  if (live() < options_.min_workers) {
    too_few_since_ = now;
  }
  // A parked or stalled one has left already, for the policy.
  if (started() && state != State::kParked && state != State::kStalled) {
    enqueue(policy::WorkerLeft{worker, how});
  }
  decide_all(now, out);
  check_live(now, out);
}

void Coordinator::push(Time now,
                       const protocol::Push& push,
                       update::Judgement judgement,
                       Effects& out) {
  Member* member = answering(push.id, out);
  if (member == nullptr) {
    out.emplace_back(Forget{push.id.worker});
    return;
  }
  const WorkerId worker = push.id.worker;
  member->last_heard = now;
  member->stands_for = push.stands_for > 0 ? push.stands_for : member->stands_for;
  if (member->state == State::kStalled) {
    return take_late_push(now, push, out);
  }
  if (options_.fed && take_after_feed(now, *member, push, out)) {
    return;
  }
  if (!take_covers(*member, push)) {
    out.emplace_back(Forget{worker});
    out.emplace_back(
        Disconnect{worker, {protocol::Farewell::kFailed, "push: other examples than were leased"}});
    leave(now, worker, member->incarnation, policy::Departure::kDead, out);
    return;
  }
  const Duration runtime = now - member->released;
  statistics_.arrived(worker, runtime, push.compute_seconds);
  if (judgement != update::Judgement::kSound) {
    turn_away(*member, worker, judgement, out);
    enqueue(policy::ReleaseEnded{
        worker,
        push.id.sequence,
        update::is_filtered(judgement) ? policy::Ending::kFiltered : policy::Ending::kRefused,
        runtime});
  } else {
    member->examples = push.examples;
    member->partial = push.partial;
    member->loss = push.loss;
    member->answered = false;
    enqueue(policy::GradientArrived{.worker = worker,
                                    .release = push.id.sequence,
                                    .computed_on = member->version,
                                    .examples = push.examples,
                                    .nominal = whole_lease() * member->stands_for,
                                    .partial = push.partial,
                                    .runtime = runtime});
  }
  decide_all(now, out);
  check_limits(now, out);
}

void Coordinator::abandon(Time now, const protocol::Abandoned& abandoned, Effects& out) {
  const protocol::GradientId& id = abandoned.id;
  Member* member = answering(id, out);
  if (member == nullptr) {
    return;
  }
  member->last_heard = now;
  statistics_.abandoned(id.worker);
  if (member->state == State::kStalled) {
    return take_back(now, id.worker, out);
  }
  protocol::Ranges left_out;
  if (abandoned.why == protocol::GivenUp::kFailed) {
    left_out = fail_examples(*member, id.worker).left_out;
  } else if (abandoned.why == protocol::GivenUp::kLeaveOut) {
    left_out = std::exchange(member->ranges, {});
  }
  end_release(*member, id.worker, /*in_vain=*/true, out);
  leave_out(std::move(left_out),
            abandoned.why == protocol::GivenUp::kFailed ? "no worker could compute them" : "",
            out);
  enqueue(policy::ReleaseEnded{id.worker, id.sequence, policy::Ending::kAbandoned});
  decide_all(now, out);
  check_limits(now, out);  // What is left out may be the last of the run.
}

void Coordinator::heard(Time now, WorkerId worker, std::uint32_t incarnation) {
  if (Member* member = present(worker, incarnation)) {
    member->last_heard = now;
  }
}

void Coordinator::measured(Time now, policy::Measured measured, Effects& out) {
  if (started()) {
    enqueue(measured);
    decide_all(now, out);
  }
}

void Coordinator::set_policy(Time now, std::string_view policy, Effects& out) {
  CHECK(started());
  if (!finished_) {
    rules_.set(policy);
    enqueue(policy::PolicySet{policy});
    decide_all(now, out);
  }
}

void Coordinator::measured_norms(Time now,
                                 Version version,
                                 const GradientNorms& norms,
                                 Effects& out) {
  noise_.add(norms);
  statistics_.noise_scale(noise_.examples());
  measured(now, {policy::Measure::kSingleGradientNorm, norms.single, version}, out);
  measured(now, {policy::Measure::kGradientNorm, norms.mean, version}, out);
}

// ---- Time and the end ---------------------------------------------------------------------------

void Coordinator::tick(Time now, Effects& out) {
  if (finished_) {
    return;
  }
  spare_if_late(now, out);
  if (now >= std::max(silence_check_, spared_until_)) {
    dismiss_silent(now, out);
  }
  if (now >= std::max(stall_check_, spared_until_)) {
    look_for_stalled(now, out);
  }
  if (!started() && live() >= options_.min_workers && now - too_few_since_ >= start_patience_) {
    out.emplace_back(Warn{"starting with " + std::to_string(live()) + " of " +
                          std::to_string(options_.workers - options_.later) +
                          " workers: the others did not come"});
    start(now, out);
  }
  check_live(now, out);
  if (policy_timer_ && !stands_since_ && now >= *policy_timer_) {
    policy_timer_.reset();
    enqueue(policy::TimerFired{});
    decide_all(now, out);
  }
  check_limits(now, out);
}

void Coordinator::dismiss_silent(Time now, Effects& out) {
  silence_check_ = Time::max();
  for (std::size_t at = 0; at < members_.size(); ++at) {
    const Member& member = members_[at];
    if (!is_live(member.state)) {
      continue;
    }
    if (now - member.last_heard < options_.heartbeat_timeout) {
      silence_check_ = std::min(silence_check_, member.last_heard + options_.heartbeat_timeout);
      continue;
    }
    const WorkerId worker{static_cast<std::uint32_t>(at)};
    const std::string why =
        name(worker) + ": silent for " +
        std::to_string(static_cast<int>(to_seconds(options_.heartbeat_timeout))) +
        " s, taken for dead";
    out.emplace_back(Warn{why});
    out.emplace_back(Disconnect{worker, {protocol::Farewell::kPresumedDead, why}});
    leave(now, worker, member.incarnation, policy::Departure::kDead, out);
  }
}

Time Coordinator::next_deadline() const {
  Time next = next_judgement();
  if (live() < options_.min_workers) {
    next = std::min(next, too_few_since_ + patience());
  } else if (!started()) {
    next = std::min(next, too_few_since_ + start_patience_);
  }
  if (policy_timer_ && !stands_since_) {
    next = std::min(next, *policy_timer_);
  }
  if (started() && options_.limits.seconds > Duration{}) {
    next = std::min(next, *started_ + options_.limits.seconds);
  }
  return next;
}

void Coordinator::nobody_will_join(Time now, Effects& out) {
  nobody_will_join_ = true;
  if (!started() && live() >= options_.min_workers) {
    start(now, out);
  }
  check_live(now, out);
}

void Coordinator::finish(Time /*now*/, ExitCode code, const std::string& why, Effects& out) {
  if (finished_) {
    return;
  }
  finished_ = true;
  statistics_.choice(*policy_);
  const auto farewell =
      code == ExitCode::kDone ? protocol::Farewell::kFinished : protocol::Farewell::kFailed;
  for (std::size_t at = 0; at < members_.size(); ++at) {
    if (is_live(members_[at].state)) {
      out.emplace_back(Disconnect{WorkerId{static_cast<std::uint32_t>(at)}, {farewell, why}});
    }
  }
  out.emplace_back(Finish{code, why});
}

void Coordinator::loop_ended(Time now, Effects& out) {
  const bool anybody =
      std::ranges::any_of(members_, [](const Member& member) { return is_live(member.state); });
  if (started() && !anybody) {
    finish(now, ExitCode::kDone, "the loops of all workers have ended", out);
  }
}

void Coordinator::start(Time now, Effects& out) {
  started_ = now - run_before_;
  last_checkpoint_at_ = now;
  count_stand_ins();
  if (options_.fed) {
    stop_clock(now);
  }
  checkpoint_due_ = options_.checkpoint_every != CheckpointEvery{};
  for (std::size_t at = 0; at < members_.size(); ++at) {
    if (is_live(members_[at].state)) {
      enqueue(policy::WorkerJoined{WorkerId{static_cast<std::uint32_t>(at)}});
    }
  }
  if (const auto& invariant = options_.scale_invariant) {
    enqueue(policy::Measured{policy::Measure::kScaleInvariant, *invariant ? 1.0 : 0.0, version_});
  }
  decide_all(now, out);
}

void Coordinator::end_at_limit(Time now, Effects& out) {
  if (const char* const why = limit_reached(now)) {
    finish(now, ExitCode::kDone, why, out);
  } else if (turned_away_in_a_row_ >= turned_away_max_ && 2 * turned_away_.size() >= live()) {
    // A few workers, however fast, end nobody's run.
    const std::string many = std::to_string(turned_away_in_a_row_) + " gradients in a row were ";
    finish(now,
           ExitCode::kFailure,
           filtered_in_a_row_ == 0
               ? many + "not finite: training has diverged; try a smaller --lr or --clip-norm"
               : many +
                     "filtered or not finite: --filter takes none any more; try a smaller --lr, "
                     "or another filter",
           out);
  }
}

void Coordinator::check_live(Time now, Effects& out) {
  if (finished_ || live() >= options_.min_workers) {
    return;
  }
  if (nobody_will_join_ || now - too_few_since_ >= patience()) {
    finish(now,
           ExitCode::kTooFewWorkers,
           "too few workers: " + std::to_string(live()) + " live, at least " +
               std::to_string(options_.min_workers) + " needed",
           out);
  }
}

// ---- Decisions ----------------------------------------------------------------------------------

void Coordinator::decide_all(Time now, Effects& out) {
  decide_queued(now, out);
  if (!parked_.empty()) {
    rejoin_parked(now, out);
  }
  if (checkpoint_due_ && !finished_) {
    checkpoint_due_ = false;
    last_checkpoint_ = count(version_);
    last_checkpoint_at_ = now;
    out.emplace_back(TakeCheckpoint{version_});
  }
}

void Coordinator::decide_queued(Time now, Effects& out) {
  for (std::size_t i = 0; i < events_.size() && !finished_; ++i) {
    const policy::Event event = events_[i];  // A copy: decisions add more.
    const Time at = run_time(now);
    nominal_ = policy_->nominal_cutoff(live());
    policy_->decide(at, event, decision_);
    if (observer_) {
      observer_(at, event, decision_);
    }
    carry_out(now, decision_, out);
    if (auto warning = policy_->take_warning()) {
      out.emplace_back(Warn{std::move(*warning)});
    }
  }
  events_.clear();
}

// Parked workers found no data. They come back when some was given back.
void Coordinator::rejoin_parked(Time now, Effects& out) {
  // Workers with the fewest unused mini-batches in a row come first. Otherwise two workers whose
  // gradients are always turned away could hand each other the same examples for ever. A worker
  // that finds no examples is parked again, and is behind `next`.
  for (auto next = parked_.begin(); next != parked_.end() && !leases_.empty() && !finished_;) {
    const Parked parked = *next;
    Member& member = members_[index(parked.worker)];
    if (!may_take_its_own(member) && leases_.empty_for(parked.worker)) {
      ++next;
      continue;
    }
    parked_.erase(next);
    member.state = State::kIdle;
    enqueue(policy::WorkerJoined{parked.worker});
    decide_queued(now, out);
    next = parked_.upper_bound(parked);
  }
}

// A worker whose gradient was turned away leaves its examples to others: its second try might fare
// no better.
bool Coordinator::may_take_its_own(const Member& member) const {
  return !member.turned_away || live() == 1;
}

Coordinator::Member* Coordinator::present(WorkerId worker, std::uint32_t incarnation) {
  if (index(worker) >= members_.size()) {
    return nullptr;
  }
  Member& member = members_[index(worker)];
  return is_live(member.state) && member.incarnation == incarnation ? &member : nullptr;
}

bool Coordinator::awaits(const protocol::GradientId& id) const {
  if (index(id.worker) >= members_.size() || finished_) {
    return false;
  }
  const Member& member = members_[index(id.worker)];
  return member.state == State::kComputing && member.incarnation == id.incarnation &&
         member.sequence == id.sequence && id.job == options_.job &&
         id.generation == options_.generation;
}

std::uint32_t Coordinator::computing() const {
  return static_cast<std::uint32_t>(
      std::count_if(members_.begin(), members_.end(), [](const Member& member) {
        return member.state == State::kComputing;
      }));
}

bool Coordinator::counted(WorkerId worker, Sequence release) const {
  const std::size_t at = index(worker);
  if (at >= members_.size() || !members_[at].last_verdict) {
    return false;
  }
  const protocol::Verdict& verdict = *members_[at].last_verdict;
  return verdict.sequence == release && verdict.outcome == protocol::Outcome::kAccepted;
}

Coordinator::Member* Coordinator::answering(const protocol::GradientId& id, Effects& out) {
  Member* member = present(id.worker, id.incarnation);
  if (member == nullptr || id.job != options_.job || id.generation != options_.generation ||
      finished_) {
    return nullptr;
  }
  const bool open = member->state == State::kComputing || member->state == State::kStalled;
  if (open && member->sequence == id.sequence) {
    return member;
  }
  if (member->last_verdict && member->last_verdict->sequence == id.sequence) {
    emplace<Send>(out, id.worker, *member->last_verdict);
  }
  return nullptr;
}

}  // namespace outpace::server

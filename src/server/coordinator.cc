#include "server/coordinator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace outpace::server {
namespace {

constexpr std::uint64_t kStarvedWarning = 20;  // Releases in vain before people are told.

std::string name(WorkerId worker) {
  return "worker " + std::to_string(index(worker));
}

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
      nominal_examples_(std::uint64_t{policy_->nominal_cutoff(options_.workers)} * options_.batch),
      leases_(options_.examples, options_.limits.epochs),
      too_few_since_(created) {
  CHECK(options_.batch >= 1 && options_.workers >= 1);
}

// ---- What workers said --------------------------------------------------------------------------

bool Coordinator::join(Time now, const protocol::Hello& hello, Effects& out) {
  const std::size_t at = index(hello.worker);
  if (at >= members_.size()) {
    members_.resize(at + 1);
    statistics_.workers.resize(at + 1);
  }
  Member& member = members_[at];
  if (member.incarnation > hello.incarnation ||
      (is_live(member.state) && member.incarnation == hello.incarnation)) {
    return false;
  }
  if (is_live(member.state)) {
    leave(now, hello.worker, member.incarnation, policy::Departure::kDead, out);
  }
  member.incarnation = hello.incarnation;
  member.state = State::kIdle;
  member.last_heard = now;
  member.last_verdict.reset();
  WorkerStatistics& worker = counts(hello.worker);
  worker.host = hello.host;
  worker.live = true;
  ++worker.incarnations;
  if (started()) {
    enqueue(policy::WorkerJoined{hello.worker});
    decide_all(now, out);
  } else if (live() >= options_.workers) {
    start(now, out);
  }
  return true;
}

void Coordinator::leave(
    Time now, WorkerId worker, std::uint32_t incarnation, policy::Departure how, Effects& out) {
  Member* member = present(worker, incarnation);
  if (member == nullptr) {
    return;
  }
  const State state = std::exchange(member->state, State::kAbsent);
  counts(worker).live = false;
  if (state == State::kComputing) {
    ++counts(worker).lost;
    leases_.give_back(worker, member->ranges);
    member->ranges.clear();
  }
  if (live() < options_.min_workers) {
    too_few_since_ = now;
  }
  if (started() && state != State::kParked) {  // A parked one has left already, for the policy.
    enqueue(policy::WorkerLeft{worker, how});
  }
  decide_all(now, out);
  check_live(now, out);
}

void Coordinator::push(Time now, const protocol::Push& push, bool finite, Effects& out) {
  Member* member = answering(push.id, out);
  if (member == nullptr) {
    out.emplace_back(Forget{push.id.worker});
    return;
  }
  const WorkerId worker = push.id.worker;
  member->last_heard = now;
  if (push.examples == 0 || push.examples > total_size(member->ranges)) {
    out.emplace_back(Forget{worker});
    out.emplace_back(
        Disconnect{worker, {protocol::Farewell::kFailed, "push: more examples than were leased"}});
    leave(now, worker, member->incarnation, policy::Departure::kDead, out);
    return;
  }
  const Duration runtime = now - member->released;
  counts(worker).compute_seconds += push.compute_seconds;
  counts(worker).runtimes.push_back(static_cast<float>(to_seconds(runtime)));
  if (!finite) {
    ++counts(worker).refused;
    ++statistics_.gradients_refused;
    ++refused_in_a_row_;
    out.emplace_back(Forget{worker});
    send_verdict(*member, worker, protocol::Outcome::kRefused, "not finite", out);
    end_release(*member, worker, /*in_vain=*/true, out);
    enqueue(policy::ReleaseEnded{worker, push.id.sequence, policy::Ending::kRefused});
  } else {
    member->examples = push.examples;
    member->partial = push.partial;
    member->loss = push.loss;
    member->answered = false;
    enqueue(policy::GradientArrived{.worker = worker,
                                    .release = push.id.sequence,
                                    .computed_on = member->version,
                                    .examples = push.examples,
                                    .nominal = options_.batch,
                                    .partial = push.partial,
                                    .runtime = runtime});
  }
  decide_all(now, out);
}

void Coordinator::abandon(Time now, const protocol::GradientId& id, Effects& out) {
  Member* member = answering(id, out);
  if (member == nullptr) {
    return;
  }
  member->last_heard = now;
  ++counts(id.worker).cancelled;
  ++statistics_.gradients_cancelled;
  end_release(*member, id.worker, /*in_vain=*/true, out);
  enqueue(policy::ReleaseEnded{id.worker, id.sequence, policy::Ending::kAbandoned});
  decide_all(now, out);
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

// ---- Time and the end ---------------------------------------------------------------------------

void Coordinator::tick(Time now, Effects& out) {
  if (finished_) {
    return;
  }
  for (std::size_t at = 0; at < members_.size(); ++at) {
    const Member& member = members_[at];
    if (is_live(member.state) && now - member.last_heard >= options_.heartbeat_timeout) {
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
  if (!started() && live() >= options_.min_workers && now - too_few_since_ >= options_.patience) {
    out.emplace_back(Warn{"starting with " + std::to_string(live()) + " of " +
                          std::to_string(options_.workers) + " workers: the others did not come"});
    start(now, out);
  }
  check_live(now, out);
  if (policy_timer_ && now >= *policy_timer_) {
    policy_timer_.reset();
    enqueue(policy::TimerFired{});
    decide_all(now, out);
  }
  check_limits(now, out);
}

Time Coordinator::next_deadline() const {
  Time next = Time::max();
  for (const Member& member : members_) {
    if (is_live(member.state)) {
      next = std::min(next, member.last_heard + options_.heartbeat_timeout);
    }
  }
  if (!started() || live() < options_.min_workers) {
    next = std::min(next, too_few_since_ + options_.patience);
  }
  if (policy_timer_) {
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
  const auto farewell =
      code == ExitCode::kDone ? protocol::Farewell::kFinished : protocol::Farewell::kFailed;
  for (std::size_t at = 0; at < members_.size(); ++at) {
    if (is_live(members_[at].state)) {
      out.emplace_back(Disconnect{WorkerId{static_cast<std::uint32_t>(at)}, {farewell, why}});
    }
  }
  out.emplace_back(Finish{code, why});
}

Time Coordinator::run_time(Time now) const {
  CHECK(started_.has_value());
  return Time{now - *started_};
}

std::uint32_t Coordinator::live() const {
  return static_cast<std::uint32_t>(std::count_if(
      members_.begin(), members_.end(), [](const Member& m) { return is_live(m.state); }));
}

void Coordinator::start(Time now, Effects& out) {
  started_ = now;
  statistics_.last_commit = Time{};
  for (std::size_t at = 0; at < members_.size(); ++at) {
    if (is_live(members_[at].state)) {
      enqueue(policy::WorkerJoined{WorkerId{static_cast<std::uint32_t>(at)}});
    }
  }
  decide_all(now, out);
}

void Coordinator::check_limits(Time now, Effects& out) {
  const Limits& limits = options_.limits;
  std::uint64_t iterations = statistics_.gradients_refused + statistics_.gradients_dropped +
                             statistics_.gradients_applied + taken_.size();
  if (limits.updates != 0 && statistics_.updates >= limits.updates) {
    finish(now, ExitCode::kDone, "updates done", out);
  } else if (limits.iterations != 0 && iterations >= limits.iterations) {
    finish(now, ExitCode::kDone, "iterations done", out);
  } else if (leases_.finished()) {
    finish(now, ExitCode::kDone, "epochs done", out);
  } else if (started() && limits.seconds > Duration{} && now - *started_ >= limits.seconds) {
    finish(now, ExitCode::kDone, "time is up", out);
  } else if (refused_in_a_row_ >= std::max<std::uint64_t>(100, 10ULL * options_.workers)) {
    finish(now,
           ExitCode::kFailure,
           std::to_string(refused_in_a_row_) +
               " gradients in a row were not finite: training has diverged; try a smaller --lr "
               "or --clip-norm",
           out);
  }
}

void Coordinator::check_live(Time now, Effects& out) {
  if (finished_ || live() >= options_.min_workers) {
    return;
  }
  if (nobody_will_join_ || now - too_few_since_ >= options_.patience) {
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
  rejoin_parked(now, out);
}

void Coordinator::decide_queued(Time now, Effects& out) {
  while (!events_.empty() && !finished_) {
    const policy::Event event = events_.front();
    events_.pop_front();
    policy_->decide(run_time(now), event, decision_);
    if (observer_) {
      observer_(run_time(now), event, decision_);
    }
    carry_out(now, decision_, out);
  }
}

// Workers that found no data come back when some was given back: theirs is the end of the run.
void Coordinator::rejoin_parked(Time now, Effects& out) {
  for (std::size_t at = 0; at < members_.size() && !leases_.empty() && !finished_; ++at) {
    if (members_[at].state == State::kParked) {
      members_[at].state = State::kIdle;
      enqueue(policy::WorkerJoined{WorkerId{static_cast<std::uint32_t>(at)}});
      decide_queued(now, out);
    }
  }
}

void Coordinator::carry_out(Time now, const policy::Decision& decision, Effects& out) {
  for (const policy::Action& action : decision.actions) {
    if (const auto* taken = std::get_if<policy::Accept>(&action)) {
      accept(*taken, out);
    } else if (const auto* dropped = std::get_if<policy::Drop>(&action)) {
      drop(*dropped, out);
    } else if (std::holds_alternative<policy::Commit>(action)) {
      commit(now, out);
    } else if (const auto* released = std::get_if<policy::Release>(&action)) {
      release(now, *released, out);
    } else if (const auto* cancelled = std::get_if<policy::Cancel>(&action)) {
      cancel(*cancelled, out);
    } else {
      policy_timer_ = *started_ + std::get<policy::WakeAt>(action).time.time_since_epoch();
    }
    check_limits(now, out);
    if (finished_) {
      return;
    }
  }
}

void Coordinator::accept(const policy::Accept& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  CHECK(!member.answered && member.sequence == action.release && std::isfinite(action.weight));
  const std::uint64_t staleness = count(version_) - count(member.version);
  out.emplace_back(TakeUp{.worker = action.worker,
                          .sequence = action.release,
                          .weight = action.weight * options_.staleness.weight(staleness),
                          .examples = member.examples});
  taken_.push_back({.worker = action.worker,
                    .staleness = staleness,
                    .examples = member.examples,
                    .partial = member.partial,
                    .loss = member.loss});
  SplitRanges split = split_ranges(member.ranges, member.examples);
  taken_ranges_.insert(taken_ranges_.end(), split.head.begin(), split.head.end());
  member.ranges = std::move(split.tail);
  refused_in_a_row_ = 0;
  send_verdict(member, action.worker, protocol::Outcome::kAccepted, "", out);
  end_release(member, action.worker, /*in_vain=*/false, out);
}

void Coordinator::drop(const policy::Drop& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  CHECK(!member.answered && member.sequence == action.release);
  ++counts(action.worker).dropped;
  ++statistics_.gradients_dropped;
  out.emplace_back(Forget{action.worker});
  send_verdict(
      member, action.worker, protocol::Outcome::kDropped, policy::to_words(action.why), out);
  end_release(member, action.worker, /*in_vain=*/true, out);
}

void Coordinator::commit(Time now, Effects& out) {
  CHECK(!taken_.empty());
  std::uint64_t examples = 0;
  for (const Taken& taken : taken_) {
    examples += taken.examples;
    WorkerStatistics& worker = counts(taken.worker);
    ++worker.accepted;
    worker.partial += taken.partial ? 1 : 0;
    worker.examples_applied += taken.examples;
    if (taken.staleness >= statistics_.staleness.size()) {
      statistics_.staleness.resize(taken.staleness + 1);
    }
    ++statistics_.staleness[taken.staleness];
    const double fresh = statistics_.gradients_applied == 0 ? 1.0 : 0.02;
    statistics_.training_loss += fresh * (taken.loss - statistics_.training_loss);
    ++statistics_.gradients_applied;
  }
  out.emplace_back(StepWeights{
      options_.rate * options_.schedule.factor(statistics_.examples_applied + examples) *
      update::rate_scale(options_.rate_scale, examples, nominal_examples_)});
  leases_.use(taken_ranges_);
  taken_.clear();
  taken_ranges_.clear();
  version_ = next(version_);
  ++statistics_.updates;
  const std::uint64_t before = statistics_.examples_applied;
  statistics_.examples_applied += examples;
  statistics_.last_commit = run_time(now);
  statistics_.epochs_complete = leases_.epochs_complete();
  statistics_.examples_used_per_epoch_min = leases_.used_min();
  statistics_.examples_used_per_epoch_max = leases_.used_max();
  if (before / options_.evaluate_every != statistics_.examples_applied / options_.evaluate_every) {
    out.emplace_back(TakeSnapshot{version_, statistics_.examples_applied});
  }
}

void Coordinator::release(Time now, const policy::Release& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  CHECK(member.state == State::kIdle && action.share > 0.0 && action.share <= 1.0);
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::llround(action.share * options_.batch)));
  CHECK(member.ranges.empty());
  leases_.take(action.worker, wanted, member.ranges);
  if (member.ranges.empty()) {
    member.state = State::kParked;
    enqueue(policy::WorkerLeft{action.worker, policy::Departure::kDrained});
    return;
  }
  member.state = State::kComputing;
  member.sequence = Sequence{++sequences_};
  member.version = version_;
  member.released = now;
  member.cancelled = false;
  out.emplace_back(Send{action.worker,
                        protocol::Release{.sequence = member.sequence,
                                          .version = version_,
                                          .nominal = options_.batch,
                                          .may_keep_part = policy_->asks_for_parts(),
                                          .now = run_time(now),
                                          .ranges = member.ranges}});
}

void Coordinator::cancel(const policy::Cancel& action, Effects& out) {
  Member& member = members_[index(action.worker)];
  if (member.state == State::kComputing && !member.cancelled) {
    member.cancelled = true;
    out.emplace_back(Send{action.worker, protocol::Cancel{member.sequence, action.keep_part}});
  }
}

Coordinator::Member* Coordinator::present(WorkerId worker, std::uint32_t incarnation) {
  if (index(worker) >= members_.size()) {
    return nullptr;
  }
  Member& member = members_[index(worker)];
  return is_live(member.state) && member.incarnation == incarnation ? &member : nullptr;
}

Coordinator::Member* Coordinator::answering(const protocol::GradientId& id, Effects& out) {
  Member* member = present(id.worker, id.incarnation);
  if (member == nullptr || id.job != options_.job || id.generation != options_.generation ||
      finished_) {
    return nullptr;
  }
  if (member->state == State::kComputing && member->sequence == id.sequence) {
    return member;
  }
  if (member->last_verdict && member->last_verdict->sequence == id.sequence) {
    out.emplace_back(Send{id.worker, *member->last_verdict});
  }
  return nullptr;
}

// The release has had its answer; what is left of its ranges goes back.
void Coordinator::end_release(Member& member, WorkerId worker, bool in_vain, Effects& out) {
  member.answered = true;
  member.state = State::kIdle;
  leases_.give_back(worker, member.ranges);
  member.ranges.clear();
  member.in_vain = in_vain ? member.in_vain + 1 : 0;
  counts(worker).starved = std::max(counts(worker).starved, member.in_vain);
  if (member.in_vain == kStarvedWarning) {
    out.emplace_back(Warn{name(worker) + " is starved: nothing of its last " +
                          std::to_string(kStarvedWarning) + " mini-batches was used"});
  }
}

void Coordinator::send_verdict(Member& member,
                               WorkerId worker,
                               protocol::Outcome outcome,
                               const std::string& why,
                               Effects& out) {
  member.last_verdict = protocol::Verdict{member.sequence, outcome, why};
  out.emplace_back(Send{worker, *member.last_verdict});
}

}  // namespace outpace::server

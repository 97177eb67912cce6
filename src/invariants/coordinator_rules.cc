#include "invariants/coordinator_rules.h"

#include <cmath>
#include <utility>

#include "invariants/violation.h"
#include "policy/policy.h"
#include "server/leases.h"

namespace outpace::invariants {
namespace {

constexpr std::size_t kVerdictsKept = 64;  // Of a worker.

std::string text(std::optional<Sequence> sequence) {
  return sequence ? std::to_string(number(*sequence)) : "none";
}

}  // namespace

void Coordination::check(Time now,
                         const server::Told& told,
                         std::uint64_t decisions,
                         const server::Effects& effects) {
  Hand hand = take_in(told);
  if (hand.worker && (!hand.current || (hand.sequence && !hand.answers))) {
    return out_of_date(hand, decisions, effects);
  }
  if (hand.worker) {
    members_[index(*hand.worker)].heard = now;
  }
  for (const server::Effect& effect : effects) {
    check_effect(effect, hand);
  }
  hold(!hand.answers || hand.examples == 0 || hand.judged || finished_, "I1", [&] {
    return "gradient " + text(hand.sequence) + " of " + name(*hand.worker) + " has no verdict";
  });
}

void Coordination::at_rest(Time now, std::uint32_t live, bool started) const {
  hold(live == live_, "I6", [&] {
    return std::to_string(live) + " workers are counted as live, and " + std::to_string(live_) +
           " are";
  });
  for (std::size_t worker = 0; worker < members_.size() && silence_ && !finished_; ++worker) {
    hold(!members_[worker].live || now - members_[worker].heard <= *silence_, "I6", [&] {
      return "worker " + std::to_string(worker) + " counts as live, and was last heard at " +
             std::to_string(to_seconds(members_[worker].heard)) + " s";
    });
  }
  hold(finished_ || !started || live_ == 0 || open_ > 0, "I5", [&] {
    return std::to_string(live_) + " live workers and none computes, though the run is not over";
  });
}

// ---- What was told ------------------------------------------------------------------------------

Coordination::Hand Coordination::take_in(const server::Told& told) {
  Hand hand;
  if (const auto* joins = std::get_if<server::ToldJoin>(&told)) {
    Member& member = members_.at(index(joins->worker));
    hand.worker = joins->worker;
    if (member.live) {
      dead(member);
    }
    member.live = true;
    member.incarnation = joins->incarnation;
    member.verdicts.clear();
    ++live_;
  } else if (const auto* leaves = std::get_if<server::ToldLeave>(&told)) {
    Member& member = members_.at(index(leaves->worker));
    hand.worker = leaves->worker;
    hand.current = member.live && member.incarnation == leaves->incarnation;
    if (hand.current) {
      dead(member);
    }
  } else if (const auto* heard = std::get_if<server::ToldHeard>(&told)) {
    const Member& member = members_.at(index(heard->worker));
    hand.worker = heard->worker;
    hand.current = member.live && member.incarnation == heard->incarnation;
  } else if (const auto* push = std::get_if<server::ToldPush>(&told)) {
    hand = hand_of(push->id);
    hand.examples = push->examples;
    hand.finite = push->finite;
    hand.filtered = push->filtered;
  } else if (const auto* abandoned = std::get_if<server::ToldAbandoned>(&told)) {
    hand = hand_of(abandoned->id);
    if (hand.answers) {
      close(members_[index(*hand.worker)], 0);
    }
  }
  return hand;
}

Coordination::Hand Coordination::hand_of(const protocol::GradientId& id) const {
  const Member& member = members_.at(index(id.worker));
  Hand hand{.worker = id.worker, .sequence = id.sequence};
  hand.current = member.live && member.incarnation == id.incarnation && !finished_;
  hand.answers = hand.current && member.open && member.open->sequence == id.sequence;
  return hand;
}

// Nothing but to forget it and, on the connection that it came by, its first verdict again.
void Coordination::out_of_date(const Hand& hand,
                               std::uint64_t decisions,
                               const server::Effects& effects) const {
  hold(decisions == 0, hand.current ? "I1" : "I7", [&] {
    return std::string(hand.current ? "a repeated gradient" : "an old incarnation") + " of " +
           name(*hand.worker) + " is decided on";
  });
  for (const server::Effect& effect : effects) {
    if (std::holds_alternative<server::Forget>(effect)) {
      continue;
    }
    hold(hand.current, "I7", [&] {
      return "what an old incarnation of " + name(*hand.worker) + " said has effects";
    });
    const auto* send = std::get_if<server::Send>(&effect);
    const auto* verdict =
        send == nullptr ? nullptr : std::get_if<protocol::Verdict>(&send->message);
    const Member& member = members_[index(*hand.worker)];
    const auto first = member.verdicts.find(*hand.sequence);
    hold(verdict != nullptr && send->worker == *hand.worker &&
             verdict->sequence == *hand.sequence && first != member.verdicts.end() &&
             first->second == verdict->outcome,
         "I1",
         [&] {
           return "gradient " + text(hand.sequence) + " of " + name(*hand.worker) +
                  " came again, and its first verdict is not all that follows";
         });
  }
}

// ---- What is asked for --------------------------------------------------------------------------

void Coordination::check_effect(const server::Effect& effect, Hand& hand) {
  if (const auto* taken = std::get_if<server::TakeUp>(&effect)) {
    taken_up(*taken, hand);
  } else if (const auto* step = std::get_if<server::StepWeights>(&effect)) {
    stepped(*step);
  } else if (const auto* send = std::get_if<server::Send>(&effect)) {
    sent(*send, hand);
  } else if (const auto* gone = std::get_if<server::Disconnect>(&effect)) {
    if (gone->stop.how == protocol::Farewell::kPresumedDead) {
      Member& member = members_.at(index(gone->worker));
      hold(member.live, "I6", [&] { return name(gone->worker) + " is disconnected twice"; });
      dead(member);
    }
  } else if (std::holds_alternative<server::Finish>(effect)) {
    finished_ = true;
  }
}

void Coordination::taken_up(const server::TakeUp& taken, Hand& hand) {
  hold(hand.answers && hand.worker == taken.worker && hand.sequence == taken.sequence &&
           hand.examples == taken.examples,
       "I1",
       [&] {
         return "gradient " + text(taken.sequence) + " of " + name(taken.worker) +
                " is taken up, and did not just arrive";
       });
  hold(hand.finite && !hand.filtered, "I12", [&] {
    return "gradient " + text(taken.sequence) + " is taken up, and is " +
           (hand.finite ? "filtered" : "not finite");
  });
  hold(!std::exchange(hand.taken, true), "I1", [&] {
    return "gradient " + text(taken.sequence) + " of " + name(taken.worker) + " is taken up twice";
  });
  hold(std::isfinite(taken.weight) && taken.weight >= 0.0 && taken.weight <= policy::kShareMost,
       "I17",
       [&] { return "a weight of " + std::to_string(taken.weight); });
  const Member& member = members_[index(taken.worker)];
  taken_.push_back({server::split_ranges(member.open->ranges, taken.examples).head, taken.weight});
}

void Coordination::stepped(const server::StepWeights& step) {
  hold(std::isfinite(step.rate) && step.rate >= 0.0, "I17", [&] {
    return "a learning rate of " + std::to_string(step.rate);
  });
  hold(!taken_.empty(), "I1", [] { return "a step with nothing taken up"; });
  used_.insert(used_.end(), taken_.begin(), taken_.end());
  taken_.clear();
  ++version_;
}

void Coordination::sent(const server::Send& send, Hand& hand) {
  hold(members_.at(index(send.worker)).live, "I6", [&] {
    return name(send.worker) + " is sent something, and is not live";
  });
  if (const auto* release = std::get_if<protocol::Release>(&send.message)) {
    released(send.worker, *release);
  } else if (const auto* verdict = std::get_if<protocol::Verdict>(&send.message)) {
    judged(send.worker, *verdict, hand);
  }
}

void Coordination::released(WorkerId worker, const protocol::Release& release) {
  Member& member = members_[index(worker)];
  hold(!member.open, "I1", [&] { return name(worker) + " has two releases open"; });
  hold(count(release.version) == version_, "I10", [&] {
    return name(worker) + " is released at version " + std::to_string(count(release.version)) +
           " after " + std::to_string(version_) + " steps";
  });
  hold(number(release.sequence) > newest_, "I1", [&] {
    return "release " + text(release.sequence) + " after " + std::to_string(newest_);
  });
  newest_ = number(release.sequence);
  for (const protocol::Range& range : release.ranges) {
    hold(positions_.take(range), "I1", [&] {
      return "positions " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
             " of epoch " + std::to_string(range.epoch) + " are handed to " + name(worker) +
             ", and are out or used";
    });
  }
  member.open = release;
  member.version = version_;
  ++open_;
}

void Coordination::judged(WorkerId worker, const protocol::Verdict& verdict, Hand& hand) {
  using enum protocol::Outcome;
  Member& member = members_[index(worker)];
  hold(hand.answers && hand.worker == worker && hand.sequence == verdict.sequence && !hand.judged,
       "I1",
       [&] {
         return "a verdict on gradient " + text(verdict.sequence) + " of " + name(worker) +
                ", which did not just arrive";
       });
  hand.judged = true;
  hold(hand.taken == (verdict.outcome == kAccepted), "I1", [&] {
    return "gradient " + text(verdict.sequence) + (hand.taken ? " is" : " is not") +
           " taken up, against its verdict";
  });
  hold(hand.finite == (verdict.outcome != kRefused), "I12", [&] {
    return "gradient " + text(verdict.sequence) + (hand.finite ? " is" : " is not") +
           " finite, against its verdict";
  });
  member.verdicts[verdict.sequence] = verdict.outcome;
  if (member.verdicts.size() > kVerdictsKept) {
    member.verdicts.erase(member.verdicts.begin());
  }
  close(member, hand.taken ? hand.examples : 0);
}

// ---- State --------------------------------------------------------------------------------------

// The release has ended; all but its first `keeps` examples may go to others.
void Coordination::close(Member& member, std::uint64_t keeps) {
  for (const protocol::Range& range : server::split_ranges(member.open->ranges, keeps).tail) {
    hold(positions_.give_back(range), "I1", [] { return "a range came back that was not out"; });
  }
  member.open.reset();
  --open_;
}

void Coordination::dead(Member& member) {
  if (member.open) {
    close(member, 0);
  }
  member.live = false;
  --live_;
}

}  // namespace outpace::invariants

#include "invariants/coordinator_rules.h"

#include <cmath>
#include <utility>

#include "base/overloaded.h"
#include "invariants/violation.h"
#include "policy/policy.h"
#include "server/leases.h"

namespace outpace::invariants {
namespace {

constexpr std::size_t kVerdictsKept = 64;  // For each worker.

std::string text(std::optional<Sequence> sequence) {
  return sequence ? std::to_string(number(*sequence)) : "none";
}

}  // namespace

void Coordination::check(Time now,
                         const server::Input& input,
                         std::uint64_t decisions,
                         const server::Effects& effects) {
  Claim claim = take_in(input);
  if (claim.worker && (!claim.current || (claim.sequence && !claim.answers && !claim.returns))) {
    return out_of_date(claim, decisions, effects);
  }
  if (claim.worker) {
    members_[index(*claim.worker)].heard = now;
  }
  for (const server::Effect& effect : effects) {
    check_effect(now, effect, claim);
  }
  const bool open = claim.answers || claim.returns;
  hold(!open || claim.examples == 0 || claim.judged || finished_, "I1", [&] {
    return "gradient " + text(claim.sequence) + " of " + name(*claim.worker) + " has no verdict";
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
  for (std::size_t worker = 0; worker < members_.size() && progress_ && !finished_; ++worker) {
    hold(!members_[worker].open || now - members_[worker].released <= *progress_, "I6", [&] {
      return "worker " + std::to_string(worker) + " is waited for, and is at a release since " +
             std::to_string(to_seconds(members_[worker].released)) + " s";
    });
  }
  hold(finished_ || !started || live_ == 0 || open_ > 0, "I5", [&] {
    return std::to_string(live_) + " live workers and none computes, though the run is not over";
  });
}

void Coordination::restarted() {
  for (Member& member : members_) {
    if (member.live) {
      dead(member);
    }
    member.verdicts.clear();
  }
  for (const Used& forgotten : accepted_) {
    for (const protocol::Range& range : forgotten.ranges) {
      hold(positions_.give_back(range), "I1", [] { return "a range came back that was not out"; });
    }
  }
  accepted_.clear();
}

// ---- What came in ------------------------------------------------------------------------------

Coordination::Claim Coordination::take_in(const server::Input& input) {
  return std::visit(
      Overloaded{[&](const server::JoinInput& joins) {
                   Member& member = members_.at(index(joins.worker));
                   if (member.live) {
                     dead(member);
                   }
                   member.live = true;
                   member.incarnation = joins.incarnation;
                   member.verdicts.clear();
                   ++live_;
                   return Claim{.worker = joins.worker};
                 },
                 [&](const server::LeaveInput& leaves) {
                   Member& member = members_.at(index(leaves.worker));
                   const bool current = member.live && member.incarnation == leaves.incarnation;
                   if (current) {
                     dead(member);
                   }
                   return Claim{.worker = leaves.worker, .current = current};
                 },
                 [&](const server::PushInput& push) {
                   Claim claim = claim_of(push.id);
                   claim.examples = push.examples;
                   claim.finite = push.finite;
                   claim.filtered = push.filtered;
                   take_back(claim);
                   return claim;
                 },
                 [&](const server::AbandonInput& abandoned) {
                   Claim claim = claim_of(abandoned.id);
                   if (claim.answers) {
                     close(members_[index(*claim.worker)], 0);
                   }
                   take_back(claim);
                   return claim;
                 },
                 [&](const server::HeartbeatInput& heard) {
                   const Member& member = members_.at(index(heard.worker));
                   return Claim{.worker = heard.worker,
                                .current = member.live && member.incarnation == heard.incarnation};
                 },
                 [](const server::OtherInput&) { return Claim{}; }},
      input);
}

Coordination::Claim Coordination::claim_of(const protocol::GradientId& id) const {
  const Member& member = members_.at(index(id.worker));
  Claim claim{.worker = id.worker, .sequence = id.sequence};
  claim.current = member.live && member.incarnation == id.incarnation && !finished_;
  claim.answers = claim.current && member.open && member.open->sequence == id.sequence;
  claim.returns = claim.current && member.stalled_at == id.sequence;
  return claim;
}

// Nothing but to forget it and, on the connection that it came by, its first verdict again.
void Coordination::out_of_date(const Claim& claim,
                               std::uint64_t decisions,
                               const server::Effects& effects) const {
  hold(decisions == 0, claim.current ? "I1" : "I7", [&] {
    return std::string(claim.current ? "a repeated gradient" : "an old incarnation") + " of " +
           name(*claim.worker) + " is decided on";
  });
  for (const server::Effect& effect : effects) {
    if (std::holds_alternative<server::Forget>(effect)) {
      continue;
    }
    hold(claim.current, "I7", [&] {
      return "what an old incarnation of " + name(*claim.worker) + " said has effects";
    });
    const auto* send = std::get_if<server::Send>(&effect);
    const auto* verdict =
        send == nullptr ? nullptr : std::get_if<protocol::Verdict>(&send->message);
    const Member& member = members_[index(*claim.worker)];
    const auto first = member.verdicts.find(*claim.sequence);
    hold(verdict != nullptr && send->worker == *claim.worker &&
             verdict->sequence == *claim.sequence && first != member.verdicts.end() &&
             first->second == verdict->outcome,
         "I1",
         [&] {
           return "gradient " + text(claim.sequence) + " of " + name(*claim.worker) +
                  " came again, and its first verdict is not all that follows";
         });
  }
}

// ---- What is asked for --------------------------------------------------------------------------

void Coordination::check_effect(Time now, const server::Effect& effect, Claim& claim) {
  std::visit(Overloaded{[&](const server::Accept& gradient) { accepted(gradient, claim); },
                        [&](const server::StepWeights& step) { stepped(step); },
                        [&](const server::Send& send) { sent(now, send, claim); },
                        [&](const server::Stalled& late) { stalled(late.worker); },
                        [&](const server::Disconnect& gone) {
                          if (gone.stop.how == protocol::Farewell::kPresumedDead) {
                            Member& member = members_.at(index(gone.worker));
                            hold(member.live, "I6", [&] {
                              return name(gone.worker) + " is disconnected twice";
                            });
                            dead(member);
                          }
                        },
                        [&](const server::Finish&) { finished_ = true; },
                        [&](const server::LeaveOut& left_out) { left(left_out); },
                        Ignoring<server::Forget,
                                 server::ForgetWorker,
                                 server::TakeSnapshot,
                                 server::TakeCheckpoint,
                                 server::Switched,
                                 server::HandIn,
                                 server::Warn>{}},
             effect);
}

void Coordination::accepted(const server::Accept& gradient, Claim& claim) {
  hold(claim.answers && claim.worker == gradient.worker && claim.sequence == gradient.sequence &&
           claim.examples == gradient.examples,
       "I1",
       [&] {
         return "gradient " + text(gradient.sequence) + " of " + name(gradient.worker) +
                " is accepted, and did not just arrive";
       });
  hold(claim.finite && !claim.filtered, "I12", [&] {
    return "gradient " + text(gradient.sequence) + " is accepted, and is " +
           (claim.finite ? "filtered" : "not finite");
  });
  hold(!std::exchange(claim.accepted, true), "I1", [&] {
    return "gradient " + text(gradient.sequence) + " of " + name(gradient.worker) +
           " is accepted twice";
  });
  hold(std::isfinite(gradient.weight) && gradient.weight >= 0.0 &&
           gradient.weight <= policy::kShareMost,
       "I17",
       [&] { return "a weight of " + std::to_string(gradient.weight); });
  const Member& member = members_[index(gradient.worker)];
  accepted_.push_back(
      {server::split_ranges(member.open->ranges, gradient.examples).head, gradient.weight});
}

void Coordination::stepped(const server::StepWeights& step) {
  hold(std::isfinite(step.rate) && step.rate >= 0.0, "I17", [&] {
    return "a learning rate of " + std::to_string(step.rate);
  });
  hold(!accepted_.empty(), "I1", [] { return "a step with nothing accepted"; });
  used_.insert(used_.end(), accepted_.begin(), accepted_.end());
  accepted_.clear();
  ++version_;
}

void Coordination::sent(Time now, const server::Send& send, Claim& claim) {
  hold(members_.at(index(send.worker)).live, "I6", [&] {
    return name(send.worker) + " is sent something, and is not live";
  });
  std::visit(
      Overloaded{[&](const protocol::Release& release) { released(now, send.worker, release); },
                 [&](const protocol::Verdict& verdict) { judged(send.worker, verdict, claim); },
                 Ignoring<protocol::Cancel>{}},
      send.message);
}

void Coordination::released(Time now, WorkerId worker, const protocol::Release& release) {
  Member& member = members_[index(worker)];
  hold(!member.stalled_at, "I6", [&] { return name(worker) + " is released, and is stalled"; });
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
  member.released = now;
  member.version = version_;
  ++open_;
}

void Coordination::judged(WorkerId worker, const protocol::Verdict& verdict, Claim& claim) {
  using enum protocol::Outcome;
  Member& member = members_[index(worker)];
  hold((claim.answers || claim.returns) && claim.worker == worker &&
           claim.sequence == verdict.sequence && !claim.judged,
       "I1",
       [&] {
         return "a verdict on gradient " + text(verdict.sequence) + " of " + name(worker) +
                ", which did not just arrive";
       });
  claim.judged = true;
  hold(claim.accepted == (verdict.outcome == kAccepted), "I1", [&] {
    return "gradient " + text(verdict.sequence) + (claim.accepted ? " is" : " is not") +
           " accepted, against its verdict";
  });
  hold(!claim.returns || verdict.outcome == kDropped, "I1", [&] {
    return "gradient " + text(verdict.sequence) +
           " came after others got its examples, and is not "
           "dropped";
  });
  hold(claim.returns || claim.finite == (verdict.outcome != kRefused), "I12", [&] {
    return "gradient " + text(verdict.sequence) + (claim.finite ? " is" : " is not") +
           " finite, against its verdict";
  });
  member.verdicts[verdict.sequence] = verdict.outcome;
  if (member.verdicts.size() > kVerdictsKept) {
    member.verdicts.erase(member.verdicts.begin());
  }
  if (claim.answers) {
    close(member, claim.accepted ? claim.examples : 0);
  }
}

void Coordination::left(const server::LeaveOut& left_out) {
  for (const protocol::Range& range : left_out.ranges) {
    hold(positions_.take(range), "I1", [&] {
      return "positions " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
             " of epoch " + std::to_string(range.epoch) + " are left out, and are out or used";
    });
  }
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
  live_ -= member.stalled_at ? 0U : 1U;
  member.stalled_at.reset();
}

// Others may have its examples now.
void Coordination::stalled(WorkerId worker) {
  Member& member = members_.at(index(worker));
  hold(member.live && member.open, "I6", [&] {
    return name(worker) + " is set aside, and does not compute";
  });
  member.stalled_at = member.open->sequence;
  close(member, 0);
  --live_;
}

void Coordination::take_back(const Claim& claim) {
  if (claim.returns) {
    members_[index(*claim.worker)].stalled_at.reset();
    ++live_;
  }
}

}  // namespace outpace::invariants

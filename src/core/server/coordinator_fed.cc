// The coordinator's fourth part: the workers of one machine, whose gradients go to a server above
// as one.
// Tested by src/core/server/coordinator_fed_test.cc.

#include <utility>

#include "base/check.h"
#include "server/coordinator.h"

namespace outpace::server {

void Coordinator::feed(Time now, const Feed& feed, Effects& out) {
  CHECK(options_.fed && started() && feed.nominal >= 1);
  if (finished_) {
    return;
  }
  end_feed(now);
  start_clock(now);
  feed_state_ = FeedState::kOpen;
  feed_keeps_part_ = feed.may_keep_part;
  batch_ = feed.nominal;
  version_ = feed.version;
  leases_.feed(feed.ranges);
  for (const policy::Release& action : std::exchange(deferred_, {})) {
    release(now, action, out);
  }
  decide_all(now, out);
}

void Coordinator::close_feed(Time now, bool keep_part, Effects& out) {
  CHECK(options_.fed);
  if (finished_ || (feed_state_ != FeedState::kOpen && feed_state_ != FeedState::kClosing)) {
    return;
  }
  feed_state_ = FeedState::kClosing;
  leases_.feed({});
  for (std::size_t at = 0; at < members_.size(); ++at) {
    Member& member = members_[at];
    if (member.state != State::kComputing || member.ranges.empty()) {
      continue;
    }
    if (!keep_part) {
      member.ranges.clear();
    }
    cancel({WorkerId{static_cast<std::uint32_t>(at)}, keep_part}, out);
  }
  if (!keep_part) {
    end_feed(now);
    feed_state_ = FeedState::kWithdrawn;
    withdrawn_ = true;
  }
  decide_all(now, out);
}

bool Coordinator::feed_is_dry() const {
  const bool comes = !leases_.empty() && live_ > 0;
  const bool waits = feed_state_ == FeedState::kOpen || feed_state_ == FeedState::kClosing;
  return waits && !comes && computing() == 0;
}

// A policy may commit when what it had accepted was withdrawn: then there is nothing to hand in.
void Coordinator::hand_in(Time now, Effects& out) {
  const bool wanted = feed_state_ == FeedState::kOpen || feed_state_ == FeedState::kClosing;
  HandIn handed{.covers = accepted_ranges_,
                .gradients = static_cast<std::uint32_t>(accepted_.size()),
                .loss = 0.0};
  for (const AppliedGradient& gradient : accepted_) {
    handed.examples += gradient.examples;
  }
  for (const AppliedGradient& gradient : accepted_) {
    handed.loss = handed.loss && gradient.loss
                      ? std::optional(*handed.loss + *gradient.loss * gradient.examples /
                                                         static_cast<double>(handed.examples))
                      : std::nullopt;
  }
  if (!accepted_.empty()) {
    failed_.forget(accepted_ranges_);
    statistics_.updated(run_time(now), accepted_);
  }
  end_feed(now);
  withdrawn_ = false;
  if (wanted) {
    out.emplace_back(std::move(handed));
  }
}

// What is out with workers counts no more: it goes to others by the server above.
void Coordinator::end_feed(Time now) {
  stop_clock(now);
  feed_state_ = FeedState::kNone;
  leases_.feed({});
  accepted_.clear();
  accepted_ranges_.clear();
  for (Member& member : members_) {
    member.ranges.clear();
  }
}

void Coordinator::stop_clock(Time now) {
  stands_since_ = stands_since_.value_or(now);
}

void Coordinator::start_clock(Time now) {
  const Duration stood = now - std::exchange(stands_since_, std::nullopt).value_or(now);
  *started_ += stood;
  if (policy_timer_) {
    *policy_timer_ += stood;
  }
}

bool Coordinator::take_after_feed(Time now,
                                  Member& member,
                                  const protocol::Push& push,
                                  Effects& out) {
  if (!member.ranges.empty() || !withdrawn_) {
    return false;  // If its feed has ended by a commit, the policy drops the gradient.
  }
  const WorkerId worker = push.id.worker;
  const Duration runtime = now - member.released;
  statistics_.arrived(worker, runtime, push.compute_seconds);
  statistics_.dropped(worker);
  ++iterations_;
  out.emplace_back(Forget{worker});
  send_verdict(member,
               worker,
               protocol::Outcome::kDropped,
               "the server above went on without this machine",
               out);
  end_release(member, worker, /*in_vain=*/true, out);
  enqueue(policy::ReleaseEnded{worker, push.id.sequence, policy::Ending::kAbandoned, runtime});
  decide_all(now, out);
  return true;
}

void Coordinator::count_stand_ins() {
  std::uint64_t workers = 0;
  std::uint64_t members = 0;
  for (const Member& member : members_) {
    if (member.state != State::kAbsent) {
      ++members;
      workers += member.stands_for;
    }
  }
  if (workers > members && !resumed_) {
    rate_.nominal_examples = rate_.nominal_examples * workers / members;
  }
}

bool Coordinator::take_covers(const Member& member, const protocol::Push& push) {
  if (!covered_.empty()) {
    covered_.erase(push.id.worker);
  }
  if (push.covers.empty()) {
    const bool late = options_.fed && member.ranges.empty();
    return push.examples > 0 && (late || push.examples <= total_size(member.ranges));
  }
  auto rest = take_out(member.ranges, push.covers);
  if (!rest || push.examples != total_size(push.covers)) {
    return false;
  }
  covered_[push.id.worker] = {.covers = push.covers, .rest = *std::move(rest)};
  return true;
}

}  // namespace outpace::server

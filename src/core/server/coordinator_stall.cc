// The coordinator's third part: workers whose heart beats and whose mini-batch takes too long, and
// when nobody is judged by time.
// Tested by src/core/server/coordinator_stall_test.cc.

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "server/coordinator.h"

namespace outpace::server {

void Coordinator::spare_if_late(Time now, Effects& out) {
  constexpr Duration kSecond = std::chrono::seconds(1);
  const Duration late = now - next_judgement();
  if (late < std::min(kSecond, options_.heartbeat_timeout / 5)) {  // A loaded machine is as late.
    return;
  }
  spared_until_ = now + std::max(kSecond, options_.heartbeat_timeout);
  too_few_since_ = std::max(too_few_since_, spared_until_ - patience());
  out.emplace_back(Warn{"the server stood still for " +
                        std::to_string(std::lround(to_seconds(late))) +
                        " s or more; its workers have time until they are judged again"});
}

void Coordinator::look_for_stalled(Time now, Effects& out) {
  // A member's first mini-batch that takes this long is told once: its moment is one of the checks.
  constexpr Duration kToSay = std::chrono::minutes(2);
  const Time since = std::exchange(stall_check_, Time::max());
  for (std::size_t at = 0; at < members_.size() && !finished_; ++at) {
    Member& member = members_[at];
    if (member.state != State::kComputing) {
      continue;
    }
    const WorkerId worker{static_cast<std::uint32_t>(at)};
    Time due = member.released + stall_rule_.least();
    if (now >= due) {
      const auto limit = stall_rule_.limit({.ended = member.ended,
                                            .stalls_in_a_row = member.stalls_in_a_row,
                                            .runtimes = statistics().workers[at].runtimes});
      due = limit ? member.released + *limit : now + stall_rule_.least();
      if (now >= due) {
        set_aside(now, worker, out);
        continue;
      }
      const Time to_say = member.released + kToSay;
      if (member.ended < StallRule::kWarmUp && due > to_say) {
        if (to_say > now) {
          due = to_say;
        } else if (to_say >= since) {
          out.emplace_back(Warn{name(worker) + " has had one of its first mini-batches for " +
                                std::to_string(std::lround(to_seconds(now - member.released))) +
                                " s; it counts as stalled after " +
                                std::to_string(std::lround(to_seconds(*limit))) + " s"});
        }
      }
    }
    stall_check_ = std::min(stall_check_, due);
  }
}

void Coordinator::set_aside(Time now, WorkerId worker, Effects& out) {
  Member& member = members_[index(worker)];
  member.state = State::kStalled;
  ++member.stalls_in_a_row;
  --live_;
  statistics_.stalled(worker);
  leases_.give_back(worker, member.ranges);
  member.ranges.clear();
  give_back_ahead(member, worker);
  out.emplace_back(ForgetWorker{worker});
  out.emplace_back(Stalled{worker});
  // It need not go on; if it can hear that, it comes back the sooner.
  emplace<Send>(out, worker, protocol::Cancel{.sequence = member.sequence, .keep_part = false});
  const std::uint64_t stalls = statistics().workers[index(worker)].stalls;
  if (std::has_single_bit(stalls)) {  // A worker that stalls often is named less and less often.
    out.emplace_back(Warn{name(worker) + " is stalled: it is alive, and has had a mini-batch for " +
                          std::to_string(std::lround(to_seconds(now - member.released))) +
                          " s; its examples go to others" +
                          (stalls == 1 ? "" : " (" + std::to_string(stalls) + " times so far)")});
  }
  if (live() < options_.min_workers) {
    too_few_since_ = now;
  }
  enqueue(policy::WorkerLeft{worker, policy::Departure::kStalled});
  decide_all(now, out);
  check_live(now, out);
}

void Coordinator::take_back(Time now, WorkerId worker, Effects& out) {
  Member& member = members_[index(worker)];
  end_release(member, worker, /*in_vain=*/true, out);
  ++live_;
  statistics_.returned(worker);
  enqueue(policy::WorkerJoined{worker});
  decide_all(now, out);
}

void Coordinator::take_late_push(Time now, const protocol::Push& push, Effects& out) {
  Member& member = members_[index(push.id.worker)];
  // A worker that has become slow has its limit by this runtime from now on.
  statistics_.arrived(push.id.worker, now - member.released, push.compute_seconds);
  statistics_.dropped(push.id.worker);
  ++iterations_;
  out.emplace_back(Forget{push.id.worker});
  send_verdict(member,
               push.id.worker,
               protocol::Outcome::kDropped,
               "stalled: its examples went to others",
               out);
  take_back(now, push.id.worker, out);
}

}  // namespace outpace::server

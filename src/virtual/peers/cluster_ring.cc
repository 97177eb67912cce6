// The workers of a simulated ring.

#include <algorithm>
#include <variant>

#include "base/overloaded.h"
#include "peers/cluster.h"
#include "server/leases.h"

namespace outpace::peers {
namespace {

// On one worker a sum is complete somewhat later than on another: by this, and by up to two steps.
constexpr Duration kUneven = std::chrono::milliseconds(1);

}  // namespace

void Cluster::compute(std::uint32_t worker, double share) {
  Member& member = members_[worker];
  Time finish = now_;
  if (share > 0.0) {
    finish = timing_.finish(WorkerId{worker}, now_, share, member.iteration++);
  }
  for (const sim::Fault& fault : options_.faults) {
    if (fault.kind == sim::Fault::Kind::kSlow && fault.worker == WorkerId{worker} &&
        now_ >= fault.at && now_ < fault.at + *fault.lasts) {
      finish = now_ + from_seconds(fault.factor * to_seconds(finish - now_));
    }
  }
  member.computes = true;
  queue_.push(finish, {.kind = Kind::kComputed, .worker = worker, .number = ++member.computations});
}

void Cluster::carry_out(std::uint32_t worker, const peer::Ring::Actions& actions) {
  Member& member = members_[worker];
  for (const peer::Ring::Action& action : actions) {
    tell(worker, told_ ? to_words(action) : "");
    std::visit(
        Overloaded{[&](const peer::Ring::HandOn& hand) {
                     send({.kind = Kind::kHandsOn,
                           .worker = static_cast<std::uint32_t>(index(hand.to)),
                           .from = worker,
                           .generation = member.group,
                           .other = member.newest_sum.generation,
                           .number = member.newest_sum.version,
                           .flag = member.newest_votes},
                          options_.transfer);
                   },
                   [&](const peer::Ring::CatchUp& with) {
                     member.catches_up = with.from;
                     ++result_.counts.caught_up;
                   },
                   // Nobody comes late in virtual time.
                   Ignoring<peer::Ring::HandOver, peer::Ring::TakeOver>{},
                   [&](const peer::Ring::Compute& term) {
                     member.term = term;
                     compute(
                         worker,
                         static_cast<double>(term.update.own_examples) / options_.batches.batch);
                   },
                   [&](const peer::Ring::Apply& step) {
                     checked_sums_.applied(member.newest_sum, WorkerId{worker}, step.examples);
                     if (count(step.version) > result_.updates) {
                       result_.updates = count(step.version);
                       result_.examples = step.applied;
                       std::erase_if(sums_, [&](const auto& sum) {
                         return sum.first.version + 2 < result_.updates;
                       });
                     }
                   },
                   [&](const peer::Ring::Finish& /*none left*/) {
                     to_host({.kind = Kind::kGoodbye, .worker = worker});
                   }},
        action);
  }
}

// Plain numbers go around the ring; packed ones go from all to all, so that each is rounded once.
Cluster::SumSteps Cluster::sum_of(int workers) const {
  if (packs(options_)) {
    return {.one = options_.latency + packed_transfer(options_) * (workers - 1) / workers,
            .count = workers > 1 ? 2 : 0};
  }
  return {.one = options_.latency + options_.transfer / workers, .count = 2 * (workers - 1)};
}

void Cluster::ring_computed(std::uint32_t worker) {
  Member& member = members_[worker];
  if (member.term.update.own_examples > 0) {
    ++result_.gradients;
    ++result_.workers[worker].gradients;
  }
  const invariants::SumId id{member.group, number(member.term.sequence)};
  checked_sums_.term(id, WorkerId{worker}, member.term.update.own);
  member.sums = true;
  member.waits_since = now_;
  OpenSum& sum = sums_[id];
  sum.terms.insert(worker);
  sum.votes = sum.votes || member.stopping;
  const std::vector<WorkerId>& group = group_of(member).members;
  const bool all = std::ranges::all_of(group, [&](WorkerId other) {
    return sum.terms.contains(static_cast<std::uint32_t>(index(other)));
  });
  if (!all) {
    return;
  }
  checked_sums_.complete(id, group);
  sum.complete = true;
  const auto [step, steps] = sum_of(static_cast<int>(group.size()));
  const Duration takes = steps * step;
  const auto uneven = static_cast<std::uint64_t>((kUneven + 2 * step).count());
  for (const WorkerId other : group) {
    queue_.push(now_ + takes + Duration{static_cast<Duration::rep>(rng_.below(uneven))},
                {.kind = Kind::kSummed,
                 .worker = static_cast<std::uint32_t>(index(other)),
                 .generation = id.generation,
                 .number = id.version,
                 .flag = sum.votes});
  }
}

void Cluster::ring_broken(std::uint32_t worker) {
  Member& member = members_[worker];
  member.ring->broken();
  member.computes = false;
  member.catches_up.reset();
  if (!std::exchange(member.sums, false)) {
    return;
  }
  ++result_.counts.broken_sums;
  const auto sum = sums_.find({member.group, number(member.term.sequence)});
  if (sum != sums_.end() && !sum->second.complete) {
    sum->second.terms.erase(worker);
  }
}

void Cluster::summed(const Event& event) {
  Member& member = members_[event.worker];
  if (event.generation != member.group || !member.sums) {
    return;
  }
  member.sums = false;
  result_.workers[event.worker].waited += now_ - member.waits_since;
  member.newest_sum = {event.generation, event.number};
  member.newest_votes = event.flag;
  carry_out(event.worker, member.ring->summed(event.flag));
}

void Cluster::handed_on(const Event& event) {
  Member& member = members_[event.worker];
  if (event.generation != member.group || member.catches_up != WorkerId{event.from}) {
    return;
  }
  member.catches_up.reset();
  member.newest_sum = {event.other, event.number};
  member.newest_votes = event.flag;
  carry_out(event.worker, member.ring->summed(event.flag));
}

}  // namespace outpace::peers

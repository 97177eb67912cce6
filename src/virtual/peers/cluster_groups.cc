// The host of a simulated run without a server, and how its workers come into groups.

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"
#include "invariants/violation.h"
#include "peers/cluster.h"

namespace outpace::peers {

void Cluster::stands(const Event& event) {
  if (connected_.contains(event.worker)) {
    order(formation_.stands(WorkerId{event.worker},
                            {.generation = event.generation, .version = Version{event.number}}));
  }
}

void Cluster::report(const Event& event) {
  ++result_.updates;
  ++result_.gradients;
  result_.examples += event.number;
  if (const char* limit = limit_reached()) {
    end(ExitCode::kDone, limit);
  }
}

const char* Cluster::limit_reached() const {
  const peer::BatchPlanOptions& limits = options_.batches;
  if (limits.updates > 0 && result_.updates >= limits.updates) {
    return "updates done";
  }
  if (limits.iterations > 0 && result_.gradients >= limits.iterations) {
    return "iterations done";
  }
  if (limits.epochs > 0 && result_.examples >= limits.epochs * limits.examples) {
    return "epochs done";
  }
  return nullptr;
}

void Cluster::goodbye(std::uint32_t worker) {
  if (connected_.contains(worker)) {
    quiet_.insert(worker);
    end_when_all_are_quiet();
  }
}

void Cluster::end_when_all_are_quiet() {
  const bool ring = options_.kind == peers::Kind::kRing;
  if (over_ || quiet_.size() < connected_.size() || (ring && !formation_.formed())) {
    return;
  }
  if (!stopping_) {
    result_.why = options_.batches.epochs > 0 ? "epochs done" : "updates done";
  }
  over_ = true;
}

void Cluster::end(ExitCode code, const std::string& why) {
  if (stopping_ || over_) {
    return;
  }
  stopping_ = true;
  result_.code = code;
  result_.why = why;
  tell_all({.kind = Kind::kStop});
}

void Cluster::lose(std::uint32_t worker, const std::string& why) {
  if (connected_.erase(worker) == 0) {
    return;
  }
  quiet_.erase(worker);
  checked_sums_.lost(WorkerId{worker});
  const auto needed = std::max(2U, options_.min_workers);
  if (connected_.size() < std::min<std::size_t>(needed, members_.size())) {
    result_.code = ExitCode::kTooFewWorkers;
    result_.why = "too few workers: " + std::to_string(connected_.size()) + " of " +
                  std::to_string(members_.size()) + " left; " + name(WorkerId{worker}) +
                  " is gone: " + why;
    over_ = true;
    return;
  }
  order(formation_.lost(WorkerId{worker}));
  invariants::hold(!formation_.workers().contains(WorkerId{worker}), "I22", [&] {
    return "the host waits for worker " + std::to_string(worker) + ", which is gone";
  });
  end_when_all_are_quiet();
}

void Cluster::order(const std::optional<peer::Formation::Order>& order) {
  if (!order) {
    return;
  }
  if (options_.kind == peers::Kind::kRing) {
    quiet_.clear();  // What a ring has left to do may be more than it thought.
  }
  std::visit(Overloaded{[&](const protocol::Regroup& regroup) {
                          tell_all({.kind = Kind::kAsked, .generation = regroup.generation});
                        },
                        [&](const protocol::Group& group) {
                          ++result_.groups;
                          groups_[group.generation] = group;
                          tell_all({.kind = Kind::kGroup, .generation = group.generation});
                        },
                        [&](const peer::Formation::GiveUp& /*no group*/) {
                          result_.code = ExitCode::kTooFewWorkers;
                          result_.why = "the workers' connections broke too often in a row";
                          over_ = true;
                        }},
             *order);
}

// ---- A worker's side ----

void Cluster::find_group(std::uint32_t worker) {
  Member& member = members_[worker];
  if (member.group != 0 || member.joining != 0) {
    if (!member.membership.must_leave()) {
      return;
    }
    leave_group(worker);
  }
  if (member.gossip && member.stopping) {
    return;
  }
  if (const auto generation = member.membership.answer()) {
    to_host({.kind = Kind::kStands,
             .worker = worker,
             .generation = *generation,
             .number = member.ring ? count(member.ring->version()) : member.gossip->meetings()});
  } else if (const auto group = member.membership.joins()) {
    connect(worker, *group);
  }
}

void Cluster::connect(std::uint32_t worker, const protocol::Group& group) {
  members_[worker].joining = group.generation;
  std::set<std::uint32_t>& there = came_[group.generation];
  there.insert(worker);
  const bool all = std::ranges::all_of(group.members, [&](WorkerId member) {
    return there.contains(static_cast<std::uint32_t>(index(member)));
  });
  if (!all) {
    return;
  }
  for (const std::uint32_t other : there) {
    queue_.push(now_ + options_.latency,
                {.kind = Kind::kJoined, .worker = other, .generation = group.generation});
  }
}

void Cluster::joined(std::uint32_t worker) {
  Member& member = members_[worker];
  member.group = std::exchange(member.joining, 0U);
  const protocol::Group& group = group_of(member);
  if (member.ring) {
    return carry_out(worker, member.ring->formed(group));
  }
  const peer::Place place{.rank = rank_of(worker),
                          .size = static_cast<std::uint32_t>(group.members.size()),
                          .generation = group.generation};
  member.neighbours.emplace(
      peer::neighbours_in(place, options_.averaging, options_.graph, options_.seed));
  carry_out(worker, member.gossip->join(place, draw_of(worker)));
  if (member.computations == 0 && !member.stopping) {
    begin_gradient(worker);
  }
}

void Cluster::leave_group(std::uint32_t worker) {
  Member& member = members_[worker];
  const std::uint32_t generation = member.group != 0 ? member.group : member.joining;
  if (generation == 0) {
    return;
  }
  if (member.group != 0) {
    member.ring ? ring_broken(worker) : gossip_broken(worker);
  }
  came_[generation].erase(worker);
  member.group = 0;
  member.joining = 0;
  member.membership.out();
  for (const WorkerId other : groups_.at(generation).members) {
    if (other != WorkerId{worker}) {
      send({.kind = Kind::kClosed,
            .worker = static_cast<std::uint32_t>(index(other)),
            .from = worker,
            .generation = generation});
    }
  }
}

void Cluster::closed(const Event& event) {
  const Member& member = members_[event.worker];
  if (event.generation == member.group || event.generation == member.joining) {
    leave_group(event.worker);
    find_group(event.worker);
  }
}

void Cluster::stop(std::uint32_t worker) {
  Member& member = members_[worker];
  member.stopping = true;
  if (member.gossip) {
    ++member.computations;
    member.computes = false;
    member.waits = false;
    member.gossip->end();
  }
}

std::uint32_t Cluster::rank_of(std::uint32_t worker) const {
  const std::vector<WorkerId>& workers = group_of(members_[worker]).members;
  const auto found = std::ranges::find(workers, WorkerId{worker});
  CHECK(found != workers.end());
  return static_cast<std::uint32_t>(found - workers.begin());
}

std::uint32_t Cluster::worker_of(const Member& member, std::uint32_t rank) const {
  return static_cast<std::uint32_t>(index(group_of(member).members.at(rank)));
}

}  // namespace outpace::peers

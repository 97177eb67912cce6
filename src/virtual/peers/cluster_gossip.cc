// The workers of a simulated gossip.

#include <algorithm>
#include <variant>

#include "base/overloaded.h"
#include "peers/cluster.h"

namespace outpace::peers {
namespace {

using peer::Say;

// A visitor's weights leave once the other takes them.
bool comes_when_awaited(Say what) {
  return what == Say::kPushed || what == Say::kToCentre;
}

bool opens(Say what) {
  return what == Say::kInvite || what == Say::kAsk || what == Say::kRequest ||
         comes_when_awaited(what);
}

}  // namespace

peer::Draw Cluster::draw_of(std::uint32_t worker) {
  return [this, worker] { return members_[worker].neighbours->next(); };
}

void Cluster::begin_gradient(std::uint32_t worker) {
  carry_out(worker, members_[worker].gossip->begin_gradient(draw_of(worker)));
  compute(worker, 1.0);
}

void Cluster::gossip_computed(std::uint32_t worker) {
  Member& member = members_[worker];
  member.waits = true;
  member.waits_since = now_;
}

void Cluster::go_on(std::uint32_t worker) {
  Member& member = members_[worker];
  if (member.waits && !member.gossip->waits()) {
    member.waits = false;
    result_.workers[worker].waited += now_ - member.waits_since;
    apply(worker);
  }
  if (member.stopping && !member.said_goodbye && member.gossip->quiet()) {
    member.said_goodbye = true;
    to_host({.kind = Kind::kGoodbye, .worker = worker});
  }
}

void Cluster::apply(std::uint32_t worker) {
  ++result_.workers[worker].gradients;
  members_[worker].gossip->apply();
  to_host({.kind = Kind::kReport, .worker = worker, .number = options_.batches.batch});
  begin_gradient(worker);
}

void Cluster::gossip_broken(std::uint32_t worker) {
  Member& member = members_[worker];
  member.gossip->leave();
  member.awaits.clear();
  member.early.clear();
}

void Cluster::knock(const Event& event) {
  Member& member = members_[event.worker];
  if (event.generation == member.group) {
    const auto from = static_cast<std::uint32_t>(
        std::ranges::find(group_of(member).members, WorkerId{event.from}) -
        group_of(member).members.begin());
    carry_out(event.worker,
              member.gossip->knock({from, event.what, event.flag}, draw_of(event.worker)));
  }
}

void Cluster::came(const Event& event) {
  Member& member = members_[event.worker];
  if (event.generation != member.group) {
    return;
  }
  const auto from =
      static_cast<std::uint32_t>(std::ranges::find(group_of(member).members, WorkerId{event.from}) -
                                 group_of(member).members.begin());
  const peer::Await message{from, event.what};
  const auto awaited = std::ranges::find(member.awaits, message);
  if (awaited == member.awaits.end()) {
    member.early.push_back(message);
    return;
  }
  member.awaits.erase(awaited);
  carry_out(event.worker, member.gossip->came({from, event.what}, draw_of(event.worker)));
}

void Cluster::carry_out(std::uint32_t worker, const peer::Actions& actions) {
  if (actions.empty()) {
    return;
  }
  const std::uint32_t rank = rank_of(worker);
  for (const peer::Action& action : actions) {
    tell(worker, told_ ? "as rank " + std::to_string(rank) + " " + to_words(action) : "");
    checked_meetings_.acts(members_[worker].group, rank, action);
    std::visit(Overloaded{[&](const peer::Send& send) { say(worker, send); },
                          [&](const peer::Await& awaited) { await(worker, awaited); },
                          Ignoring<peer::Invited, peer::Average, peer::Skip>{}},
               action);
  }
}

void Cluster::say(std::uint32_t worker, const peer::Send& send) {
  const Member& member = members_[worker];
  const bool weights = peer::carries_weights(send.what) && !comes_when_awaited(send.what);
  this->send({.kind = opens(send.what) ? Kind::kKnock : Kind::kCame,
              .worker = worker_of(member, send.to),
              .from = worker,
              .generation = member.group,
              .what = send.what,
              .flag = send.invited},
             weights ? packed_transfer(options_) : Duration{});
}

void Cluster::await(std::uint32_t worker, const peer::Await& awaited) {
  Member& member = members_[worker];
  const std::uint32_t from = worker_of(member, awaited.from);
  const auto early = std::ranges::find(member.early, awaited);
  if (early != member.early.end()) {
    member.early.erase(early);
    member.awaits.push_back(awaited);
    queue_.push(now_,
                {.kind = Kind::kCame,
                 .worker = worker,
                 .from = from,
                 .generation = member.group,
                 .what = awaited.what});
    return;
  }
  member.awaits.push_back(awaited);
  // If the visitor has left the group, its connection is closed.
  if (comes_when_awaited(awaited.what) && members_[from].group == member.group) {
    send({.kind = Kind::kCame,
          .worker = worker,
          .from = from,
          .generation = member.group,
          .what = awaited.what},
         options_.latency + packed_transfer(options_));  // The word that it may.
  }
}

}  // namespace outpace::peers

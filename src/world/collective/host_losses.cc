// The host's third part: workers that are lost, and how the others go on.
// Tested by src/world/collective/host_test.cc.

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/overloaded.h"
#include "collective/host.h"
#include "wire/peer_links.h"

namespace outpace::collective {
namespace {

// The watcher of the processes knows the cause better than a closed connection, and reports it in a
// moment.
constexpr Duration kToSayWhy = std::chrono::seconds(3);
// From one line about broken connections to the next.
constexpr Duration kBetweenLines = std::chrono::seconds(10);

}  // namespace

std::uint32_t Host::workers_needed() const {
  return std::max(std::min(options_.workers, 2U), options_.min_workers);
}

bool Host::too_few() const {
  return awaited_.size() < workers_needed();
}

void Host::ended(Time now, const WorkerEnded& ended) {
  ended_[ended.worker] = ended.how;  // Its connection may be closed only later.
  const auto awaited =
      std::ranges::find_if(awaited_, [&](WorkerId worker) { return name(worker) == ended.worker; });
  const bool connected = std::ranges::any_of(
      peers_, [&](const auto& peer) { return name(peer.second.worker) == ended.worker; });
  if (awaited != awaited_.end() && !connected) {
    awaited_.erase(awaited);
    if (phase_ == Phase::kGathering && !too_few()) {
      begin_when_all_are_there(now);
    }
  }
  for (auto worker = may_return_.begin(); worker != may_return_.end();) {
    worker = name(*worker) == ended.worker ? may_return_.erase(worker) : std::next(worker);
  }
  if (too_few_for_good() && phase_ < Phase::kCollecting) {
    gone_ = ended.how;
    deadline_ = now;
  }
}

bool Host::too_few_for_good() const {
  return awaited_.size() + may_return_.size() < workers_needed();
}

void Host::wait_for_more(Time now, WorkerId worker, const std::string& gone) {
  gone_untold_.insert(worker);
  const auto known = ended_.find(name(worker));
  gone_ = known != ended_.end() ? known->second : gone_.empty() ? gone : gone_;
  const bool waits =
      phase_ == Phase::kRunning && options_.patience_to_return > Duration{} && !too_few_for_good();
  if (!waits) {
    deadline_ = std::min(deadline_, known != ended_.end() ? now : now + kToSayWhy);
    return;
  }
  deadline_ = std::min(deadline_, now + options_.patience_to_return);
  say(fmt::format(
      "{}; {} of {} workers are left, and {} are needed: waiting {:g} s for one to come "
      "back",
      gone,
      peers_.size(),
      options_.workers,
      workers_needed(),
      to_seconds(deadline_ - now)));
}

void Host::came(Time now, wire::ConnectionId connection) {
  const Peer& peer = peers_.at(connection);
  may_return_.erase(peer.worker);
  ended_.erase(name(peer.worker));
  tally_->joined(peer.worker, peer.host);
  if (callbacks_.joined) {
    callbacks_.joined(run_time(now), peer.worker);
  }
  say(name(peer.worker) + " is here again");
  welcome(now, connection, /*newcomer=*/true);
  if (too_few()) {
    gone_untold_.insert(peer.worker);  // All of these come with the next.
    return;
  }
  deadline_ = Time::max();
  gone_.clear();
  // The last order holds; the others are of generations that nobody is asked about.
  std::optional<peer::Formation::Order> next;
  for (const WorkerId lost : std::exchange(gone_untold_, {})) {
    next = formation_.lost(lost);
  }
  for (const auto& [other, there] : peers_) {
    if (!formation_.workers().contains(there.worker)) {
      next = formation_.came(there.worker);
    }
  }
  order(now, next);
}

void Host::lose(Time now, wire::ConnectionId connection, const std::string& why) {
  const WorkerId worker = peers_.at(connection).worker;
  const bool dead = !peers_.at(connection).quiet;
  peers_.erase(connection);
  awaited_.erase(worker);
  places_.erase(worker);
  if (dead && !ended_.contains(name(worker))) {
    may_return_.insert(worker);
  }
  links_are_whole(now);
  if (tally_) {
    tally_->left(worker);
    if (callbacks_.left) {
      callbacks_.left(run_time(now), worker, dead);
    }
  }
  if (phase_ >= Phase::kEvaluating) {
    return;
  }
  for (auto& [version, gathered] : gathering_) {
    gathered.weights.erase(worker);
  }
  last_weights_.erase(worker);
  const std::string gone = name(worker) + " is gone: " + why;
  if (phase_ == Phase::kCollecting && !peers_.empty()) {
    say(gone);
    ask_for_weights(tally_->version());  // It may have been the one that was asked.
    return;
  }
  if (too_few()) {
    return wait_for_more(now, worker, gone);
  }
  say(gone);
  if (phase_ == Phase::kGathering) {
    begin_when_all_are_there(now);
    return;
  }
  evaluate_gathered();  // Perhaps only its weights were missing.
  order(now, formation_.lost(worker));
}

void Host::stands(Time now, WorkerId worker, const protocol::Standing& standing) {
  places_[worker] = standing.place;
  const auto next = formation_.stands(worker, standing);
  if (next && std::holds_alternative<protocol::Regroup>(*next) && !broken_since_ &&
      gone_untold_.empty()) {
    broken_since_ = now;
    if (phase_ == Phase::kStopping) {
      deadline_ = std::min(deadline_, now + options_.patience_if_broken);
    }
    broken_said_ = now + kToSayWhy;
  }
  order(now, next);
}

void Host::check_connections(Time now) {
  if (phase_ < Phase::kRunning || phase_ > Phase::kStopping || !broken_since_ ||
      now < broken_said_) {
    return;
  }
  broken_said_ = now + kBetweenLines;
  const std::string words = fmt::format(
      "the workers' connections to each other broke {:.0f} s ago, and no worker is gone; they try "
      "to "
      "connect anew",
      to_seconds(now - *broken_since_));
  if (!std::exchange(broken_alarm_, true) && callbacks_.links) {
    callbacks_.links(run_time(now), /*broken=*/true, words);
  } else {
    say(words);
  }
}

void Host::links_are_whole(Time now) {
  if (broken_since_ && phase_ == Phase::kStopping) {
    deadline_ = now + options_.patience;
  }
  broken_since_.reset();
  if (std::exchange(broken_alarm_, false) && callbacks_.links) {
    callbacks_.links(run_time(now), /*broken=*/false, "the workers are connected again");
  }
}

void Host::order(Time now, const std::optional<peer::Formation::Order>& order) {
  if (!order) {
    return;
  }
  const auto tell_all = [this](const protocol::Message& message) {
    for (auto& [connection, peer] : peers_) {
      // What a ring has left to do may be more than it thought.
      peer.quiet = peer.quiet && options_.topology == Topology::kGossip;
      transport_->send(connection, message, nullptr);
    }
  };
  std::visit(
      Overloaded{[&](protocol::Regroup regroup) {
                   regroup.key = wire::draw_group_key();
                   tell_all(regroup);
                 },
                 [&](protocol::Group group) {
                   for (const WorkerId member : group.members) {
                     group.places.push_back(places_[member]);
                   }
                   tally_->formed(run_time(now), group.version, group.members);
                   if (group.members.size() < options_.workers || !group.newcomers.empty()) {
                     const bool ring = options_.topology == Topology::kRing;
                     say(std::string(ring ? "the ring" : "the gossip") + " goes on with " +
                         std::to_string(group.members.size()) + " of " +
                         std::to_string(options_.workers) + " workers" +
                         (ring ? " from update " + std::to_string(count(group.version)) : ""));
                   }
                   tell_all(group);
                 },
                 [&](const peer::Formation::GiveUp& why) {
                   if (why.nobody_has_weights) {
                     return give_up(ExitCode::kTooFewWorkers,
                                    "all workers that had the weights are gone");
                   }
                   give_up(ExitCode::kTooFewWorkers,
                           "the workers' connections to each other broke " +
                               std::to_string(peer::Formation::kBreaksMost) +
                               " times in a row; is the network between them all right?");
                 }},
      *order);
}

}  // namespace outpace::collective

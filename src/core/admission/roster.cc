#include "admission/roster.h"

#include <utility>

#include "base/check.h"

namespace outpace::admission {

Roster::Roster(const std::map<WorkerId, std::uint32_t>& incarnations) {
  for (const auto& [worker, incarnation] : incarnations) {
    seat(worker).incarnation = incarnation;
  }
}

Roster::Seat& Roster::seat(WorkerId worker) {
  if (index(worker) >= seats_.size()) {
    seats_.resize(index(worker) + 1);
  }
  return seats_[index(worker)];
}

const Peer* Roster::find(ConnectionId connection) const {
  const auto found = peers_.find(connection);
  return found == peers_.end() ? nullptr : &found->second;
}

std::vector<ConnectionId> Roster::all(Role role) const {
  std::vector<ConnectionId> found;
  for (const auto& [connection, peer] : peers_) {
    if (peer.role == role) {
      found.push_back(connection);
    }
  }
  return found;
}

const Peer& Roster::add_worker(ConnectionId connection, Peer worker) {
  Seat& seat = this->seat(worker.worker);
  CHECK(!seat.holder && !peers_.contains(connection));
  seat.holder = connection;
  worker.role = Role::kWorker;
  worker.incarnation = ++seat.incarnation;
  worker.joined = false;
  waiting_.insert(connection);
  ++workers_;
  return peers_[connection] = std::move(worker);
}

void Roster::add_evaluator(ConnectionId connection) {
  CHECK(!peers_.contains(connection));
  peers_[connection].role = Role::kEvaluator;
  ++evaluators_;
}

void Roster::heard(Time now, ConnectionId connection) {
  if (const auto found = peers_.find(connection); found != peers_.end()) {
    found->second.last_heard = now;
  }
}

void Roster::joined(ConnectionId connection) {
  CHECK(waiting_.erase(connection) == 1);
  Peer& peer = peers_.at(connection);
  peer.joined = true;
  seat(peer.worker).joined = true;
}

void Roster::unjoin_all() {
  for (auto& [connection, peer] : peers_) {
    if (peer.role == Role::kWorker) {
      peer.joined = false;
      seat(peer.worker).joined = false;
      waiting_.insert(connection);
    }
  }
}

void Roster::give_up_role(ConnectionId connection, const Peer& peer) {
  if (peer.role == Role::kEvaluator) {
    --evaluators_;
  }
  if (peer.role == Role::kWorker) {
    --workers_;
    waiting_.erase(connection);
    Seat& seat = this->seat(peer.worker);
    CHECK(seat.holder == connection);
    seat.holder.reset();
    seat.joined = false;
  }
}

void Roster::send_away(ConnectionId connection) {
  Peer& peer = peers_.try_emplace(connection, Peer{.role = Role::kSentAway}).first->second;
  give_up_role(connection, peer);
  peer.role = Role::kSentAway;
  peer.joined = false;
}

std::optional<Peer> Roster::remove(ConnectionId connection) {
  const auto found = peers_.find(connection);
  if (found == peers_.end()) {
    return std::nullopt;
  }
  give_up_role(connection, found->second);
  std::optional<Peer> peer = std::move(found->second);
  peers_.erase(found);
  return peer;
}

}  // namespace outpace::admission

// Where a run's first weights come from, and what travels once beside them.
// Tested by src/live/script_test.cc.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "live/server.h"
#include "server/initial_weights.h"

namespace outpace::live {

bool Server::asks_for_weights(WorkerId worker) const {
  return !shard_ && (index(worker) == 0 || !awaits_rank_0_);
}

std::optional<Time> Server::asks_others_at() const {
  const auto is_0 = [](const auto& peer) {
    return peer.second.role == Role::kWorker && index(peer.second.worker) == 0;
  };
  if (shard_ || !awaits_rank_0_ || !anybody_is(Role::kWorker) ||
      std::ranges::any_of(peers_, is_0)) {
    return std::nullopt;
  }
  return gathers_since_ + options_.coordinator.patience / 2;
}

void Server::ask_others_for_weights() {
  awaits_rank_0_ = false;
  warn("worker 0 has not come in " +
       std::to_string(static_cast<int>(to_seconds(options_.coordinator.patience / 2))) +
       " s: the run begins with another worker's weights");
  for (const auto& [connection, peer] : peers_) {
    if (peer.role == Role::kWorker) {
      welcome(connection, peer.incarnation);
    }
  }
}

void Server::tell_constants() const {
  if (callbacks_.constants && !constants_.empty()) {
    callbacks_.constants(constants_);
  }
}

void Server::send_constants(wire::ConnectionId to) {
  protocol::in_parts(constants_,
                     [&](const protocol::Constants& part) { transport_->send(to, part, nullptr); });
}

void Server::take_initial_weights(Time now, wire::ConnectionId from, std::vector<float> weights) {
  if (shard_) {
    return;  // Another worker was asked, too, and was faster.
  }
  if (const std::string why = server::why_unfit(*manifest_, weights, *script_); !why.empty()) {
    dismiss(from, protocol::Farewell::kIncompatible, "initial weights: " + why);
    return;
  }
  if (!peers_[from].constants.complete()) {
    dismiss(from, protocol::Farewell::kIncompatible, "initial weights: constants are missing");
    return;
  }
  constants_ = peers_[from].constants.take();
  tell_constants();
  shard_.emplace(shard_options(*script_), std::move(weights), manifest_->sizes());
  weights_from_ = from;
  join_waiting(now);
}

void Server::take_constants(Time now, wire::ConnectionId from, protocol::Constants part) {
  if (shard_) {
    return;  // Another worker was asked, too, and was faster.
  }
  if (const std::string why = peers_[from].constants.add(std::move(part)); !why.empty()) {
    expel(now, from, peers_[from], why);
  }
}

void Server::send_weights(Version version) {
  if (!std::exchange(peers_[*evaluator_].has_constants, true)) {
    send_constants(*evaluator_);
  }
  transport_->send(*evaluator_, protocol::Snapshot{version}, shard_->snapshot());
}

}  // namespace outpace::live

// Where a run's first weights come from, and what travels once beside them.
// Tested by src/world/live/script_test.cc.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
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
  if (shard_) {  // Another worker was asked, too, and was faster.
    peers_[from].states.clear();
    return;
  }
  if (const std::string why = server::why_unfit(*manifest_, weights, *script_); !why.empty()) {
    dismiss(from, protocol::Farewell::kIncompatible, "initial weights: " + why);
    return;
  }
  if (!peers_[from].constants.complete()) {
    dismiss(from, protocol::Farewell::kIncompatible, "initial weights: constants are missing");
    return;
  }
  shard_.emplace(shard_options(*script_), std::move(weights), manifest_->sizes());
  for (const auto& [tensor, state] : std::exchange(peers_[from].states, {})) {
    if (const std::string why = shard_->begin_from(tensor, state); !why.empty()) {
      shard_.reset();
      dismiss(from,
              protocol::Farewell::kIncompatible,
              "the optimizer's state of tensor '" + printable(manifest_->tensors[tensor].name) +
                  "': " + why);
      return;
    }
  }
  constants_ = peers_[from].constants.take();
  tell_constants();
  weights_from_ = from;
  join_waiting(now);
}

void Server::take_state(Time now,
                        wire::ConnectionId from,
                        protocol::OptimizerState part,
                        std::vector<float> numbers) {
  if (shard_) {
    return;  // Another worker was asked, too, and was faster.
  }
  const auto refuse = [&](const std::string& why) {
    expel(now, from, peers_[from], "optimizer_state: " + why);
  };
  if (part.tensor >= manifest_->tensors.size() ||
      numbers.size() != manifest_->tensors[part.tensor].numbers()) {
    refuse("it is of no tensor of the network");
    return;
  }
  update::BroughtState& state = peers_[from].states[part.tensor];
  if (!state.parts.empty() && part.updates != state.updates) {
    refuse("its parts count other updates");
    return;
  }
  if (std::ranges::find(state.parts, part.part, &update::BroughtPart::name) != state.parts.end() ||
      state.parts.size() >= update::kStatePartsMax) {
    refuse("a part of tensor '" + printable(manifest_->tensors[part.tensor].name) + "' came twice");
    return;
  }
  state.updates = part.updates;
  state.parts.push_back({.name = std::move(part.part), .numbers = std::move(numbers)});
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

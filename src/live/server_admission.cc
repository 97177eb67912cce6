// How workers and the evaluator come to take part: they are greeted, fit the job or are sent away,
// and join once there are weights.
// Tested by src/live/worker_test.cc.

#include <utility>

#include "live/server.h"
#include "policy/catalogue.h"

namespace outpace::live {

void Server::greet_worker(wire::ConnectionId from, const protocol::Hello& hello) {
  if (const std::string why = incompatible(hello.protocol, hello.manifest); !why.empty()) {
    dismiss(from, protocol::Farewell::kIncompatible, why);
    return;
  }
  if (examples_ != 0 && hello.dataset_examples != examples_) {
    dismiss(from,
            protocol::Farewell::kIncompatible,
            "this worker's data set has " + std::to_string(hello.dataset_examples) +
                " examples, the job's has " + std::to_string(examples_));
    return;
  }
  manifest_ = hello.manifest;
  examples_ = hello.dataset_examples;
  peers_[from] = {.role = Role::kWorker,
                  .worker = hello.worker,
                  .incarnation = hello.incarnation,
                  .hello = hello,
                  .joined = false};
  transport_->authorise(from, manifest_->numbers());
  transport_->send(from,
                   protocol::Welcome{.job = options_.coordinator.job,
                                     .generation = options_.coordinator.generation,
                                     .needs_weights = !shard_.has_value(),
                                     .heartbeat = options_.coordinator.heartbeat_timeout / 5,
                                     .seed = options_.coordinator.seed,
                                     .with_replacement = options_.coordinator.with_replacement},
                   nullptr);
}

void Server::greet_evaluator(wire::ConnectionId from, const protocol::Observe& observe) {
  const std::string why = incompatible(observe.protocol, observe.manifest);
  if (!why.empty()) {
    dismiss(from, protocol::Farewell::kIncompatible, why);
    return;
  }
  peers_[from].role = Role::kEvaluator;
  evaluator_ = from;
  manifest_ = observe.manifest;
}

std::string Server::wrong_protocol(std::uint32_t protocol) {
  return "protocol " + std::to_string(protocol) + " was offered, this server speaks " +
         std::to_string(protocol::kProtocolVersion);
}

std::string Server::incompatible(std::uint32_t protocol, const protocol::Manifest& other) const {
  if (protocol != protocol::kProtocolVersion) {
    return wrong_protocol(protocol);
  }
  if (manifest_ && other != *manifest_) {
    return "another network: " + std::to_string(other.tensors.size()) + " tensors of " +
           std::to_string(other.numbers()) + " numbers, the job's has " +
           std::to_string(manifest_->tensors.size()) + " of " +
           std::to_string(manifest_->numbers());
  }
  return "";
}

void Server::take_initial_weights(Time now, wire::ConnectionId from, std::vector<float> weights) {
  if (shard_ || weights.size() != manifest_->numbers()) {
    if (!shard_) {
      dismiss(from, protocol::Farewell::kIncompatible, "initial weights of another size");
    }
    return;
  }
  shard_.emplace(options_.shard, std::move(weights), manifest_->sizes());
  join_waiting(now);
}

void Server::join_waiting(Time now) {
  if (!shard_ || examples_ == 0 || (options_.expects_evaluator && !evaluator_ && !coordinator_)) {
    return;
  }
  if (!coordinator_) {
    options_.coordinator.examples = examples_;
    coordinator_.emplace(options_.coordinator,
                         policy::make_settable_policy(
                             options_.policy, options_.coordinator.workers, options_.policy_inputs),
                         callbacks_.decided,
                         now);
  }
  server::Effects effects;
  for (auto& [connection, peer] : peers_) {
    if (peer.role == Role::kWorker && !peer.joined) {
      join(now, connection, peer, effects);
    }
  }
  carry_out(now, effects);
}

void Server::join(Time now, wire::ConnectionId connection, Peer& peer, server::Effects& effects) {
  if (finish_) {
    dismiss(connection, protocol::Farewell::kFinished, finish_->why);
    return;
  }
  const std::size_t worker = index(peer.worker);
  if (connection_of_.size() <= worker) {
    connection_of_.resize(worker + 1);
  }
  // Set before the join, whose effects go to the newcomer.
  const auto older = std::exchange(connection_of_[worker], connection);
  if (!coordinator_->join(now, peer.hello, effects)) {
    connection_of_[worker] = older;
    dismiss(connection,
            protocol::Farewell::kFenced,
            "worker " + std::to_string(worker) + " has joined already");
    return;
  }
  peer.joined = true;
  peer.hello = {};
  if (older) {
    dismiss(*older, protocol::Farewell::kFenced, "a newer process has taken this worker's place");
  }
}

}  // namespace outpace::live

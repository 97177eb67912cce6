// Where a run's first weights come from, and what travels once beside them.
// Tested by src/world/live/script_test.cc.

#include <string>
#include <utility>
#include <vector>

#include "live/server.h"
#include "server/initial_weights.h"

namespace outpace::live {

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
  if (above_) {
    return bring_above(from, std::move(weights));
  }
  Brought brought = std::exchange(brought_[from], {});
  if (!wants_weights()) {
    return;  // Another worker was asked, too, and was faster.
  }
  const protocol::Manifest& network = *admission_.terms().network;
  const protocol::Script& script = *admission_.terms().script;
  const auto refuse = [&](const std::string& why) {
    this->refuse(now, from, protocol::Farewell::kIncompatible, why);
  };
  if (const std::string why = server::why_unfit(network, weights, script); !why.empty()) {
    refuse("initial weights: " + why);
    return;
  }
  if (!brought.complete()) {
    refuse("initial weights: constants are missing");
    return;
  }
  shard_.emplace(shard_options(script), std::move(weights), network.sizes());
  if (const std::string why = brought.begin(*shard_, network); !why.empty()) {
    shard_.reset();
    refuse(why);
    return;
  }
  constants_ = brought.take_constants();
  tell_constants();
  admission_.weights_came(from);
  admit(now, {});
}

void Server::take_state(Time now,
                        wire::ConnectionId from,
                        protocol::OptimizerState part,
                        std::vector<float> numbers) {
  if (!wants_weights()) {
    return;  // Another worker was asked, too, and was faster.
  }
  const std::string why =
      brought_[from].add(*admission_.terms().network, std::move(part), std::move(numbers));
  if (!why.empty()) {
    expel(now, from, "optimizer_state: " + why);
  }
}

void Server::take_constants(Time now, wire::ConnectionId from, protocol::Constants part) {
  if (!wants_weights()) {
    return;  // Another worker was asked, too, and was faster.
  }
  if (const std::string why = brought_[from].add(std::move(part)); !why.empty()) {
    expel(now, from, why);
  }
}

void Server::send_weights(Version version) {
  const wire::ConnectionId evaluator = *admission_.evaluator();
  if (has_constants_.insert(evaluator).second) {
    send_constants(evaluator);
  }
  transport_->send(evaluator, protocol::Snapshot{version}, shard_->snapshot());
}

}  // namespace outpace::live

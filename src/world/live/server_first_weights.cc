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
  Brought brought = std::exchange(brought_[from], {});
  if (!admission_.needs_weights()) {
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
  if (!brought.constants.complete()) {
    refuse("initial weights: constants are missing");
    return;
  }
  shard_.emplace(shard_options(script), std::move(weights), network.sizes());
  for (const auto& [tensor, state] : brought.states) {
    if (const std::string why = shard_->begin_from(tensor, state); !why.empty()) {
      shard_.reset();
      refuse("the optimizer's state of tensor '" + printable(network.tensors[tensor].name) +
             "': " + why);
      return;
    }
  }
  constants_ = brought.constants.take();
  tell_constants();
  admission_.weights_came(from);
  admit(now, {});
}

void Server::take_state(Time now,
                        wire::ConnectionId from,
                        protocol::OptimizerState part,
                        std::vector<float> numbers) {
  if (!admission_.needs_weights()) {
    return;  // Another worker was asked, too, and was faster.
  }
  const protocol::Manifest& network = *admission_.terms().network;
  const auto refuse = [&](const std::string& why) { expel(now, from, "optimizer_state: " + why); };
  if (part.tensor >= network.tensors.size() ||
      numbers.size() != network.tensors[part.tensor].numbers()) {
    refuse("it is of no tensor of the network");
    return;
  }
  update::BroughtState& state = brought_[from].states[part.tensor];
  if (!state.parts.empty() && part.updates != state.updates) {
    refuse("its parts count other updates");
    return;
  }
  if (std::ranges::find(state.parts, part.part, &update::BroughtPart::name) != state.parts.end() ||
      state.parts.size() >= update::kStatePartsMax) {
    refuse("a part of tensor '" + printable(network.tensors[part.tensor].name) + "' came twice");
    return;
  }
  state.updates = part.updates;
  state.parts.push_back({.name = std::move(part.part), .numbers = std::move(numbers)});
}

void Server::take_constants(Time now, wire::ConnectionId from, protocol::Constants part) {
  if (!admission_.needs_weights()) {
    return;  // Another worker was asked, too, and was faster.
  }
  if (const std::string why = brought_[from].constants.add(std::move(part)); !why.empty()) {
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

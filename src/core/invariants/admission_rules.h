// What must hold of the admission's effects, peer by peer.
//
//   I19  a worker has at most one live incarnation, each newer than the last; a peer of another
//        network is never accepted; workers join once, with the incarnation that was accepted, and
//        none after the end; one evaluator is served at a time, in the order in which they came;
//        every greeting is answered, and nothing is said to a peer that is gone

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "admission/effects.h"
#include "admission/input.h"
#include "base/connection_id.h"
#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::invariants {

class AdmissionRules {
 public:
  // `network`: the job's, fixed from the beginning.
  explicit AdmissionRules(protocol::Manifest network) : network_(std::move(network)) {}

  // The driver was told something. Throws Violation, as all below.
  void came(const admission::Input& input);
  // The admission wants this done next.
  void check(const admission::Effect& effect);
  // All effects are carried out.
  void at_rest() const;
  // Another server goes on: nobody is connected to it, and it has given these incarnations before.
  void restarted();

 private:
  enum class State : std::uint8_t { kGreets, kAccepted, kJoined, kEvaluator, kSentAway };
  struct Peer {
    State state = State::kGreets;
    WorkerId worker{};
    std::uint32_t incarnation = 0;
    bool foreign = false;
  };

  [[nodiscard]] Peer& connected(ConnectionId connection);
  void accepted(const admission::Accept& accept);
  void joined(const admission::Join::Worker& worker);
  void left(const admission::Leave& leave);
  void served(ConnectionId evaluator);
  void sent_away(ConnectionId connection);
  // The connection holds its worker's rank no more.
  void free_rank(ConnectionId connection, const Peer& peer);

  // Constant after construction.
  protocol::Manifest network_;
  // State.
  std::map<ConnectionId, Peer> peers_;
  std::map<WorkerId, ConnectionId> holders_;
  std::map<WorkerId, std::uint32_t> incarnations_;  // The newest.
  std::map<WorkerId, std::uint32_t> members_;       // The coordinator's, with the incarnation.
  std::deque<ConnectionId> line_;                   // Evaluators, as they came.
  std::optional<ConnectionId> served_;
  bool ended_ = false;
};

}  // namespace outpace::invariants

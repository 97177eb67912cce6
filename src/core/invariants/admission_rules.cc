#include "invariants/admission_rules.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/overloaded.h"
#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

std::string peer_name(ConnectionId connection) {
  return "connection " + std::to_string(static_cast<std::uint64_t>(connection));
}

void must(bool condition, const std::string& what) {
  hold(condition, "I19", [&] { return what; });
}

}  // namespace

void AdmissionRules::came(const admission::Input& input) {
  std::visit(Overloaded{[&](const admission::WorkerGreets& worker) {
                          peers_[worker.peer] = {.worker = worker.worker,
                                                 .foreign = worker.network != network_};
                        },
                        [&](const admission::EvaluatorGreets& evaluator) {
                          peers_[evaluator.peer] = {.state = State::kEvaluator,
                                                    .foreign = evaluator.network != network_};
                          line_.push_back(evaluator.peer);
                        },
                        [&](const admission::WorkerLeaves& leaves) {
                          Peer& peer = connected(leaves.peer);
                          free_rank(leaves.peer, peer);
                          peer.state = State::kSentAway;
                        },
                        [&](const admission::ConnectionEnds& end) {
                          const auto peer = peers_.find(end.peer);
                          if (peer != peers_.end()) {
                            free_rank(end.peer, peer->second);
                            peers_.erase(peer);
                          }
                          std::erase(line_, end.peer);
                        },
                        [&](const admission::RunEnds&) { ended_ = true; }},
             input);
}

void AdmissionRules::check(const admission::Effect& effect) {
  std::visit(Overloaded{[&](const admission::Accept& accept) { accepted(accept); },
                        [&](const admission::Welcome& again) {
                          const State state = connected(again.peer).state;
                          must(state == State::kAccepted || state == State::kJoined,
                               peer_name(again.peer) + " is welcomed, and is no worker");
                        },
                        [&](const admission::Refuse& refused) { sent_away(refused.peer); },
                        [&](const admission::HangUp& ended) { sent_away(ended.peer); },
                        [&](const admission::Join& join) {
                          std::ranges::for_each(join.workers,
                                                [&](const auto& one) { joined(one); });
                        },
                        [&](const admission::Leave& leave) { left(leave); },
                        [&](const admission::Serve& serve) { served(serve.peer); },
                        [&](const admission::EvaluatorLost&) {
                          must(served_.has_value() && !peers_.contains(*served_),
                               "an evaluator counts as lost, and none that was served is gone");
                          served_.reset();
                        },
                        Ignoring<admission::Open,
                                 admission::Reset,
                                 admission::ScriptChanged,
                                 admission::ForgetWeights,
                                 admission::MeasureLast,
                                 admission::StartEvaluator,
                                 admission::Warn,
                                 admission::Awaits,
                                 admission::End>{}},
             effect);
}

void AdmissionRules::at_rest() const {
  for (const auto& [connection, peer] : peers_) {
    must(peer.state != State::kGreets, peer_name(connection) + " greets and has no answer");
  }
  must(served_.has_value() || line_.empty(), "an evaluator waits, and none is served");
}

void AdmissionRules::restarted() {
  peers_.clear();
  holders_.clear();
  members_.clear();
  line_.clear();
  served_.reset();
}

AdmissionRules::Peer& AdmissionRules::connected(ConnectionId connection) {
  const auto peer = peers_.find(connection);
  must(peer != peers_.end(), peer_name(connection) + " is told something, and is gone");
  return peer->second;
}

void AdmissionRules::accepted(const admission::Accept& accept) {
  Peer& peer = connected(accept.peer);
  const std::string which =
      name(accept.worker) + ", incarnation " + std::to_string(accept.incarnation);
  must(peer.state == State::kGreets && peer.worker == accept.worker,
       which + " is accepted over " + peer_name(accept.peer) + ", which did not greet as it");
  must(!peer.foreign, which + " is accepted with another network");
  must(!ended_, which + " is accepted after the end");
  must(!holders_.contains(accept.worker), which + " is accepted while another one is live");
  std::uint32_t& newest = incarnations_[accept.worker];
  must(accept.incarnation > newest,
       which + " is accepted after incarnation " + std::to_string(newest));
  newest = accept.incarnation;
  holders_[accept.worker] = accept.peer;
  peer.state = State::kAccepted;
  peer.incarnation = accept.incarnation;
}

void AdmissionRules::joined(const admission::Join::Worker& worker) {
  Peer& peer = connected(worker.peer);
  const std::string which =
      name(worker.newcomer.worker) + ", incarnation " + std::to_string(worker.newcomer.incarnation);
  must(peer.state == State::kAccepted && peer.worker == worker.newcomer.worker &&
           peer.incarnation == worker.newcomer.incarnation,
       which + " joins, and was not accepted, or joins twice");
  must(!ended_, which + " joins after the end");
  std::uint32_t& member = members_[peer.worker];
  must(member < peer.incarnation, which + " joins in place of a newer one");
  member = peer.incarnation;
  peer.state = State::kJoined;
}

void AdmissionRules::left(const admission::Leave& leave) {
  const auto member = members_.find(leave.worker);
  must(member != members_.end() && member->second == leave.incarnation,
       name(leave.worker) + ", incarnation " + std::to_string(leave.incarnation) +
           ", leaves, and is no member");
  members_.erase(member);
}

void AdmissionRules::served(ConnectionId evaluator) {
  must(!served_.has_value(), peer_name(evaluator) + " is served while another evaluator is");
  must(!line_.empty() && line_.front() == evaluator,
       peer_name(evaluator) + " is served out of its turn");
  must(!connected(evaluator).foreign, peer_name(evaluator) + " is served with another network");
  served_ = evaluator;
}

void AdmissionRules::sent_away(ConnectionId connection) {
  Peer& peer = connected(connection);
  must(peer.state != State::kSentAway, peer_name(connection) + " is sent away twice");
  free_rank(connection, peer);
  peer.state = State::kSentAway;
  std::erase(line_, connection);
}

void AdmissionRules::free_rank(ConnectionId connection, const Peer& peer) {
  const auto holder = holders_.find(peer.worker);
  if (holder != holders_.end() && holder->second == connection) {
    holders_.erase(holder);
  }
}

}  // namespace outpace::invariants

// One process of a recorded run without a server, whose machines hear again what they heard.
//
// Pure. The events are those of a journal (journal.h). A machine that is told the same events must
// write the same journal; record/peer_replay.h compares the two.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peer/conversation.h"
#include "peer/formation.h"
#include "peer/membership.h"
#include "peer/ring.h"
#include "peer/turns.h"
#include "worker/neighbour.h"
#include "worker/topology.h"

namespace outpace::peer {

// What the machines of a run are made from. A value.
struct Setting {
  worker::Topology topology = worker::Topology::kRing;  // REQUIRES: not kServer.
  // `examples` is 0 in the host's, which needs the number of workers alone, as a gossip's does.
  BatchPlanOptions batches{};
  std::uint64_t evaluate_every = 5120;  // A ring's; the next ones are a gossip's.
  Averaging averaging = Averaging::kCoupled;
  worker::Graph graph = worker::Graph::kBipartite;
  std::uint32_t average_every = 1;
  std::uint64_t seed = 1;

  // "gossip:workers=4,averaging=pull,graph=complete,every=1,seed=1"
  [[nodiscard]] std::string words() const;
  // Throws a usage error.
  [[nodiscard]] static Setting parse(const std::string& words);
};

class Replayed {
 public:
  // Nothing: it is the host.
  Replayed(const Setting& setting, std::optional<WorkerId> worker);
  // The machines write to it.
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;

  // What the machine that the event is for decides. Throws a usage error if there is no such event,
  // or if it cannot come after those before it.
  [[nodiscard]] std::string decide(const std::string& event);

 private:
  struct Told;
  // A worker's, which has new ones when it comes back.
  struct Machines {
    Membership membership;
    Ring ring;
    Turns turns;
  };
  [[nodiscard]] std::unique_ptr<Machines> make_machines() const;
  [[nodiscard]] bool tell_host(Told& event);
  [[nodiscard]] bool tell_member(Told& event);
  [[nodiscard]] bool tell_ring(Told& event);
  [[nodiscard]] bool tell_turns(Told& event);
  [[nodiscard]] bool tell_conversation(Told& event);
  void follow(const Actions& actions);

  // Constant after construction.
  const Setting setting_;
  const std::optional<WorkerId> worker_;
  const Journal journal_;
  // State.
  std::string decided_;
  bool begun_ = false;  // The host's groups.
  Formation formation_;
  std::unique_ptr<Machines> machines_;
  Place place_;
  std::unique_ptr<Conversation> conversation_;  // Null: it was in no group.
  std::optional<worker::Neighbours> neighbours_;
  std::vector<Await> awaits_;
};

}  // namespace outpace::peer

// Messages on their way over the links between a simulated server and its workers: which of them
// arrive when.
//
// The server is on the topology's first host, worker i on host i + 1. A message with a payload, a
// gradient or weights, is a flow of so many bytes (network/flows.h); any other takes the latency of
// its route alone. What one worker sends arrives in the order in which it was sent, and so does
// what it is sent, as over one connection.
//
// Time stands still between calls. The driver's loop is that of network/flows.h.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "network/flows.h"
#include "network/topology.h"

namespace outpace::sim {

class Transfers {
 public:
  struct Options {
    network::Topology topology;
    double payload;  // Bytes of a gradient, and of the weights; at least 0 and finite.
  };
  enum class Way : std::uint8_t { kToServer, kToWorker };
  struct Message {
    Way way;
    std::uint32_t worker;
    std::uint64_t label;  // The sender's own, to know it again.

    bool operator==(const Message&) const = default;
  };

  // REQUIRES: the topology has a host for each worker, and one for the server. The options stay.
  Transfers(const Options& options, std::uint32_t workers);

  // REQUIRES: now is not before that of an earlier call.
  void send(Time now, const Message& message, bool with_payload);
  // Appends all that is on its way to or from the worker, which then never arrives.
  void cut_off(Time now, std::uint32_t worker, std::vector<Message>& out);

  // When arrive() should be called again at the latest; nothing if nothing is on its way.
  [[nodiscard]] std::optional<Time> next();
  // Appends what has arrived by `now`, in order of time, and then of sending.
  void arrive(Time now, std::vector<Message>& out);

  // What a message without a payload takes on its own.
  [[nodiscard]] Duration latency(Way way, std::uint32_t worker);

 private:
  struct Waiting {
    Message message;
    network::FlowId flow;
    bool complete = false;  // It waits for those before it.
  };
  using Lane = std::deque<Waiting>;  // In the order of sending.

  void advance(Time now);
  [[nodiscard]] Lane& lane(Way way, std::uint32_t worker);
  // Finds route_ for a message.
  void find_route(Way way, std::uint32_t worker);

  const Options& options_;
  network::Flows flows_;
  std::vector<Lane> lanes_;  // Of each worker, there and back.
  std::map<network::FlowId, Lane*> lanes_of_;
  std::vector<Message> arrived_;  // Not told yet.
  // Kept for their memory.
  std::vector<network::LinkId> route_;
  std::vector<network::FlowId> completed_;
};

}  // namespace outpace::sim

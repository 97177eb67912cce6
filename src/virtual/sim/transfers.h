// Messages between a simulated server and its workers, and when they arrive over the links.
//
// The server's shards, each on a host of its own, have equal parts of the weights. A message with a
// payload (a gradient or weights) is a flow to or from each shard (links/flows.h), and arrives with
// the last of these flows. Any other message is between the worker and the first shard, and takes
// only the latency of its route. The messages from one worker arrive in the order in which they
// were sent, as over one connection, and so do the messages to it.
//
// Weights that a shard sends to several workers share its link. With a window they go out in turn:
// one window of the first message, then one of the next, and round again. A real connection does so
// if it may hold only this much in the queue of the sender's link (Linux:
// net.ipv4.tcp_limit_output_bytes). Gradients come from hosts of their own, and always share the
// shard's link.
//
// Weights can be told in pieces: each as soon as its bytes have arrived. Then the weights for one
// worker go out one after another, as over one connection.
//
// Time stands still between calls. The driver's loop is that of links/flows.h.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "links/flows.h"
#include "links/topology.h"
#include "sim/link_use.h"
#include "sim/way.h"

namespace outpace::sim {

class Transfers {
 public:
  struct Options {
    links::Topology topology;
    double payload;  // Bytes of a payload that names none; at least 0 and finite.
    // Where the shards are, no two on one host. Workers are on the hosts that are left, in order.
    std::vector<links::HostId> servers{links::HostId{0}};
    // Bytes that a shard sends of one message before the next has its turn; each turn pays the
    // route's latency again. 0: all at the same time.
    double window = 0.0;
    // How long a link needs for a packet. A transfer that begins while n others are under way waits
    // for 1 + n / 2 packets, so it stays that far behind them. REQUIRES: no window, and one shard.
    // 0: links are shared from the first byte on.
    Duration packet{};
    // Bytes of the pieces of weights that are told one by one. They add up to the weights'
    // payload, and there is one shard. Empty: weights are told when they are all there.
    std::vector<double> pieces = {};
    LinkUse* use = nullptr;  // Measures the links, if there; belongs to the caller.
  };
  struct Message {
    Way way;
    std::uint32_t worker;
    std::uint64_t label;      // The sender's own, to know it again.
    std::uint32_t piece = 0;  // For weights in pieces: the piece that has arrived.

    bool operator==(const Message&) const = default;
  };

  // REQUIRES: the topology has a host for each worker and each shard. The options stay.
  Transfers(const Options& options, std::uint32_t workers);

  // REQUIRES: now is not before that of an earlier call.
  void send(Time now, const Message& message, bool with_payload);
  // With a payload of this many bytes: weights or a gradient that is packed.
  void send_payload(Time now, const Message& message, double bytes);
  // Sends this number of bytes to the server. REQUIRES: there is one shard.
  void send_bytes(Time now, const Message& message, double bytes);
  // Appends all messages that are on their way to or from the worker. They never arrive. REQUIRES:
  // weights are not told in pieces.
  void cut_off(Time now, std::uint32_t worker, std::vector<Message>& out);

  // When arrive() should be called again at the latest; nothing if nothing is on its way.
  [[nodiscard]] std::optional<Time> next();
  // Appends what has arrived by `now`, in order of time, and then of sending.
  void arrive(Time now, std::vector<Message>& out);

  // The time of a message without a payload on idle links.
  [[nodiscard]] Duration latency(Way way, std::uint32_t worker);

  // The links are measured up to `now`, at which the run ends.
  void end(Time now);

 private:
  // `payload`: its bytes; nothing: it has none.
  void send_parts(Time now, const Message& message, std::optional<double> payload);
  // A message's part to or from one of the shards.
  struct Waiting {
    Message message;
    std::uint64_t serial;
    std::uint32_t part;
    bool last;                          // The message's last part.
    std::optional<links::FlowId> flow;  // Nothing while it waits for its turn, and in the end.
    bool in_turn = false;
    bool in_pieces = false;
    bool has_bytes = false;   // The flow.
    double left = 0.0;        // Bytes that no flow has taken yet.
    double turn_left = 0.0;   // Bytes that are left of the present turn, too.
    double piece_left = 0.0;  // Bytes that are left of message.piece, too.
    bool complete = false;    // It waits for those before it.
  };
  struct Lane : std::deque<Waiting> {  // In the order of sending.
    Way way = Way::kToServer;
    std::uint32_t flows = 0;  // With bytes.
    Time sent = Time::min();  // When the last of these ended.
  };

  void advance(Time now);
  [[nodiscard]] Lane& lane(Way way, std::uint32_t worker);
  // Sends a part on its way when its turn comes.
  void begin(Lane& its, Waiting& waiting);
  // How long a payload that begins now waits behind what other connections have in the queue.
  [[nodiscard]] Duration behind(const Lane& its, const Waiting& waiting) const;
  // A flow with bytes begins, or has ended, and with it what it had in the queue.
  void occupy(Lane& its);
  void vacate(Lane& its);
  void begin_held(std::multimap<Time, std::pair<Lane*, std::uint64_t>>::iterator held);
  void begin_first_held(Way way);
  [[nodiscard]] static Waiting& find(Lane& its, std::uint64_t serial);
  void advance_flows(Time now);
  // Sends the bytes of a part on their way up to the end of a turn or piece.
  void start(Lane& its, Waiting& waiting);
  // Gives the next message in a shard's queue its turn, unless another one has it.
  void next_turn(std::uint32_t part);
  void flow_completed(links::FlowId flow);
  // Finds route_ for a message to or from a shard.
  void find_route(Way way, std::uint32_t worker, links::HostId server);

  const Options& options_;
  std::vector<links::HostId> hosts_;  // The workers'; constant after construction.
  links::Flows flows_;
  std::vector<Lane> lanes_;  // By worker, there and back.
  std::map<links::FlowId, Lane*> lanes_of_;
  // For a shard that sends in turn: the messages that wait for their turn, by lane and serial
  // number.
  struct Turns {
    std::deque<std::pair<Lane*, std::uint64_t>> queue;
    bool busy = false;
  };
  std::vector<Turns> turns_;
  std::array<std::uint32_t, 2> busy_{};  // Lanes with flows, there and back.
  // Payloads that wait behind a queue: lane and serial number, by the end of the wait.
  std::multimap<Time, std::pair<Lane*, std::uint64_t>> held_;
  std::uint64_t sent_ = 0;        // Parts.
  std::vector<Message> arrived_;  // Not told yet.
  // Kept for their memory.
  std::vector<links::LinkId> route_;
  std::vector<links::FlowId> completed_;
};

}  // namespace outpace::sim

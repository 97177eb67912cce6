// The data plane: ordered streams of messages, each with an optional payload of float32 numbers,
// between one server and many clients (workers, evaluators).
//
// The contract, which transport_test.cc tests over every carrier (a Unix socket, the same
// with shared memory, TCP, TLS):
//  1. Messages of one connection arrive in the order they were sent, whole, with their payloads.
//     A release that waits to be sent gives way to a newer one. A client that gives a `progress`
//     gets a release when its first numbers are there. A gradient sent in slices arrives as one
//     push, whole, or not at all.
//  2. Nothing of a client counts before it has proved that it knows the job's token (handshake.h).
//  3. Nothing is allocated or mapped for a payload beyond the size that the receiver authorised.
//  4. A connection that ends, for whatever reason, yields exactly one Closed, its last event.
//  5. A malformed, oversized or changed record ends that connection, with a Closed that says why,
//     and no other.
//  6. send() never blocks on the network and may be called from any thread.
//  7. What waits is bounded. A client's next payload is delivered once the one before has been
//     handled; until then the client's socket is not read. A client that does not read what it is
//     sent is closed when more than `UnreadMax` waits for it.
// Events are delivered one at a time per connection, on threads of the transport; the receiver
// queues them to its own loop.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/connection_id.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "wire/join_code.h"
#include "wire/payload.h"
#include "wire/traffic_count.h"

namespace outpace::wire {

using outpace::ConnectionId;

struct Received {
  protocol::Message message;
  Numbers payload;  // Empty if the message carries none. On a server never in shared memory.
  std::uint64_t arrived = 0;  // Numbers of the payload, from the front: all, but for `progress`.
  // For a push: its payload's SquareSum, which the transport adds up while the numbers pass by.
  std::optional<double> squares = std::nullopt;
  std::uint64_t bytes = 0;  // That the payload took, with its slices.
  // On a server: while a copy of this lives, the message counts as not handled.
  std::shared_ptr<void> turn;
};
struct Closed {
  std::string why;  // For people: "connection reset", "end of stream".
  // Client side: one of the two does not know the other; trying again is no use.
  bool refused = false;
  bool reached = false;  // Client side: there was a connection.
};
using ConnectionEvent = std::variant<Received, Closed>;

// What may wait for a client: messages, and those of them that have numbers.
struct UnreadMax {
  std::size_t messages = 1024;
  std::size_t payloads = 4;
};

// How long a server's destructor waits for clients to take what is queued for them.
inline constexpr auto kShutdown = std::chrono::seconds(2);

// Whether another message to the same connection follows at once: this one may wait for it.
enum class More : std::uint8_t { kNone, kAtOnce };

class ServerTransport {
 public:
  using Sink = std::function<void(ConnectionId, ConnectionEvent)>;

  virtual ~ServerTransport() = default;

  // Where clients connect to, with the port that was given: "unix:/tmp/x/s", "127.0.0.1:40123".
  [[nodiscard]] virtual std::string address() const = 0;
  // The second one; empty without.
  [[nodiscard]] virtual std::string beyond() const = 0;
  // Queues the message; drops it silently if the connection is gone (its Closed is on the way).
  virtual void send(ConnectionId to,
                    const protocol::Message& message,
                    Payload payload,
                    More more = More::kNone) = 0;
  // The largest payload, in numbers, that this connection may send from now on. 0 at first.
  virtual void authorise(ConnectionId connection, std::uint64_t numbers) = 0;
  // Ends the connection after what was queued for it has gone out.
  virtual void close(ConnectionId connection) = 0;
  // Whether the client has ended, though its Closed may be on the way: threads take turns, so that
  // the client which comes in its place may be heard first.
  [[nodiscard]] virtual bool hung_up(ConnectionId connection) = 0;
  // Ends the connections of passes that are not let in any more, as close().
  virtual void close_shut_out() = 0;
  // Which key the client has proved; nothing if the connection is gone.
  [[nodiscard]] virtual std::optional<KeyName> proved(ConnectionId connection) = 0;
  // Whether bytes of some client have come that its thread has not read yet.
  [[nodiscard]] virtual bool has_unread() = 0;
  // What gradients and weights have taken until now.
  [[nodiscard]] virtual protocol::Traffic traffic() = 0;
};

class ClientTransport {
 public:
  using Sink = std::function<void(ConnectionEvent)>;

  virtual ~ClientTransport() = default;  // Ends the connection; no event comes after.

  virtual void send(const protocol::Message& message, Payload payload) = 0;
  // Memory to write a payload of this size into, before it is sent. A server that shares memory
  // reads the payload there.
  [[nodiscard]] virtual Room room(std::uint64_t numbers) = 0;
  // Whether a payload goes over the network, so that slices of it gain time; else the server reads
  // it whole in memory that both share.
  [[nodiscard]] virtual bool slices() = 0;
  virtual void authorise(std::uint64_t numbers) = 0;
  // Ends the sending side after what was queued; the server's remaining messages still arrive.
  virtual void finish() = 0;
};

}  // namespace outpace::wire

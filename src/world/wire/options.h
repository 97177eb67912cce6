// What the two sides of a connection may choose; transports.h takes it.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "compress/reference.h"
#include "wire/address.h"
#include "wire/kept_numbers.h"
#include "wire/passes.h"
#include "wire/tls_files.h"
#include "wire/transport.h"

namespace outpace::wire {

// Connections of one client that carry one stream: more belong to no bundle (bundle.h) of ours.
inline constexpr std::size_t kLanesMax = 16;

struct ServeOptions {
  std::string address;  // "127.0.0.1:4000", "[::1]:0" (port 0: any free one) or "unix:/path".
  std::string token;    // The job's: printable ASCII without blanks, not empty.
  // A second address, of TCP, beside a Unix socket; empty: none.
  std::string beyond = {};
  TlsFiles tls;  // Without files no TLS. A Unix socket never has it.
  // Not null: a client may prove a pass of these in place of the token, and needs no certificate.
  std::shared_ptr<Passes> passes = nullptr;
  UnreadMax unread_max;
  std::function<void(const std::string&)> refused;  // "refused 10.0.0.7:4000: a wrong token".
  bool shares_memory = true;  // Over a Unix socket. The tests of the socket itself say false.
  std::function<void(const std::string&)> warned;  // Once, if memory cannot be shared.
  Duration keep_alive = kKeepAlive;
  Reach reach = Reach::kAddress;
  Duration to_begin = std::chrono::seconds(10);  // For a client's first message.
  compress::WeightsKind pack_weights = compress::WeightsKind::kNone;  // Releases'.
};

struct ConnectOptions {
  std::string address;  // As the server's address() gives it.
  std::string token;    // Or a pass (join_code.h), which takes TLS without files.
  Duration deadline = std::chrono::seconds(10);  // For reaching the server; it may start later.
  TlsFiles tls;
  bool shares_memory = true;  // As the server's.
  // Not null: a release is delivered as soon as its first numbers are there, and this is told how
  // many there are whenever more have come. On the sink's thread.
  std::function<void(std::uint64_t arrived)> progress;
  Duration keep_alive = kKeepAlive;
  // Is told after each try to connect why it failed, or with an empty text that one did not. On
  // the sink's thread. May be null.
  std::function<void(const std::string& why)> tried;
  // Over TCP and TLS: connections that carry what one could (bundle.h); nothing: as many as
  // lanes_for() says of the round trip that is measured when the client connects.
  std::optional<std::size_t> connections = std::nullopt;
  // Is told, once both sides know each other, if there are to be several. On the sink's thread. May
  // be null.
  std::function<void(std::size_t connections, Duration round_trip)> several = nullptr;
  // Memory for payloads, which outlasts the connection; null: the connection has its own.
  std::shared_ptr<KeptNumbers> kept = nullptr;
};

}  // namespace outpace::wire

// Opens the transport of an address: a Unix socket for "unix:PATH", TCP or TLS for HOST:PORT.
//
// All carriers behave alike where transport.h leaves a choice:
//  - A client that calls finish() ends the connection: the server sends what is queued for it by
//    then, and both sides see Closed.
//  - Destroying either side delivers the Closed of every connection that is still open, before the
//    destructor returns; nothing comes after. A transport is never destroyed from within a sink.
//  - A client that is refused was never a connection: the server's sink hears nothing, and
//    `refused` is told, at most once a second.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "wire/address.h"
#include "wire/tls_files.h"
#include "wire/transport.h"

namespace outpace::wire {

struct ServeOptions {
  std::string address;  // "127.0.0.1:4000", "[::1]:0" (port 0: any free one) or "unix:/path".
  std::string token;    // Of the job: printable ASCII without blanks, not empty.
  TlsFiles tls;         // Without files no TLS. A Unix socket never has it.
  UnreadMax unread_max;
  std::function<void(const std::string&)> refused;  // "refused 10.0.0.7:4000: a wrong token".
  bool shares_memory = true;  // Over a Unix socket. The tests of the socket itself say false.
  std::function<void(const std::string&)> warned;  // Once, if memory cannot be shared.
  Duration keep_alive = kKeepAlive;
};
// Throws a usage error if the address cannot be listened on, the token is not well formed, or a
// file is missing or wrong.
[[nodiscard]] std::unique_ptr<ServerTransport> serve(const ServeOptions& options,
                                                     ServerTransport::Sink sink);

struct ConnectOptions {
  std::string address;  // As the server's address() gives it.
  std::string token;
  Duration deadline = std::chrono::seconds(10);  // For reaching the server; it may start later.
  TlsFiles tls;
  bool shares_memory = true;  // As the server's.
  // Not null: a release is delivered as soon as its first numbers are there, and this is told how
  // many there are whenever more have come. On the sink's thread.
  std::function<void(std::uint64_t arrived)> progress;
  Duration keep_alive = kKeepAlive;
};
// Returns at once and connects in the background, trying again (backoff.h) until the deadline; what
// is sent meanwhile is queued. Throws a usage error if the token is not well formed or a file is
// wrong.
[[nodiscard]] std::unique_ptr<ClientTransport> connect(const ConnectOptions& options,
                                                       ClientTransport::Sink sink);

// What a client throws when its connection to `server` has ended: kAuthentication if one of the two
// does not know the other, else kFailure.
[[nodiscard]] Error error_of(const Closed& closed, const std::string& server);

}  // namespace outpace::wire

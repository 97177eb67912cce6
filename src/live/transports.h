// Opens the transport of an address: a Unix socket for "unix:PATH", gRPC for HOST:PORT.
//
// Both transports behave alike where transport.h leaves a choice:
//  - A client that calls finish() ends the connection: the server sends what is queued for it by
//    then, and both sides see Closed.
//  - Destroying either side delivers the Closed of every connection that is still open, before the
//    destructor returns; nothing comes after. A transport is never destroyed from within a sink.
//  - A client whose token is refused was never a connection: the server's sink hears nothing.

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/time.h"
#include "live/transport.h"

namespace outpace::live {

struct ServeOptions {
  std::string address;  // "127.0.0.1:4000", "[::1]:0" (port 0: any free one) or "unix:/path".
  std::string token;    // Of the job: printable ASCII without blanks, not empty.
};
// Throws a usage error if the address cannot be listened on or the token is not well formed.
[[nodiscard]] std::unique_ptr<ServerTransport> serve(const ServeOptions& options,
                                                     ServerTransport::Sink sink);

struct ConnectOptions {
  std::string address;  // As the server's address() gives it.
  std::string token;
  Duration deadline = std::chrono::seconds(10);  // For reaching the server; it may start later.
};
// Returns at once and connects in the background, trying again until the deadline; what is sent
// meanwhile is queued. Throws a usage error if the token is not well formed.
[[nodiscard]] std::unique_ptr<ClientTransport> connect(const ConnectOptions& options,
                                                       ClientTransport::Sink sink);

}  // namespace outpace::live

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

#include <memory>
#include <string>

#include "base/error.h"
#include "wire/options.h"
#include "wire/transport.h"

namespace outpace::wire {

// Throws a usage error if the address cannot be listened on, the token is not well formed, or a
// file is missing or wrong.
[[nodiscard]] std::unique_ptr<ServerTransport> serve(const ServeOptions& options,
                                                     ServerTransport::Sink sink);

// Returns at once and connects in the background, trying again (backoff.h) until the deadline; what
// is sent meanwhile is queued. Throws a usage error if the token is not well formed or a file is
// wrong.
[[nodiscard]] std::unique_ptr<ClientTransport> connect(const ConnectOptions& options,
                                                       ClientTransport::Sink sink);

// What a client throws when its connection to `server` has ended: kAuthentication if one of the two
// does not know the other, else kFailure.
[[nodiscard]] Error error_of(const Closed& closed, const std::string& server);

}  // namespace outpace::wire

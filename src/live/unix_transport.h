// The data plane over a Unix socket, between processes of one machine. It carries the same packets
// as gRPC's streams, but the sending thread writes them and one thread per connection reads them. A
// round trip takes half of the time, because half as many threads have to wake up for it.

#pragma once

#include "live/transports.h"

namespace outpace::live {

// REQUIRES: the address begins with "unix:", and the token is well formed.
[[nodiscard]] std::unique_ptr<ServerTransport> serve_unix(const ServeOptions& options,
                                                          ServerTransport::Sink sink);
[[nodiscard]] std::unique_ptr<ClientTransport> connect_unix(const ConnectOptions& options,
                                                            ClientTransport::Sink sink);

}  // namespace outpace::live

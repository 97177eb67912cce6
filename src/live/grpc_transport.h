// The data plane over gRPC, between machines: one bidirectional stream per client.
//
// Payloads leave as slices of the shared buffer and are copied once, into the receiver's vector.

#pragma once

#include "live/transports.h"

namespace outpace::live {

// REQUIRES: the token is well formed.
[[nodiscard]] std::unique_ptr<ServerTransport> serve_grpc(const ServeOptions& options,
                                                          ServerTransport::Sink sink);
[[nodiscard]] std::unique_ptr<ClientTransport> connect_grpc(const ConnectOptions& options,
                                                            ClientTransport::Sink sink);

}  // namespace outpace::live

// The client's side of every carrier.

#pragma once

#include <memory>

#include "wire/options.h"
#include "wire/tls_stream.h"

namespace outpace::wire {

// REQUIRES: the token is well formed.
[[nodiscard]] std::unique_ptr<ClientTransport> connect_stream(const ConnectOptions& options,
                                                              std::unique_ptr<TlsContext> tls,
                                                              ClientTransport::Sink sink);

}  // namespace outpace::wire

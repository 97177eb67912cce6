// The server's side of every carrier.

#pragma once

#include <memory>

#include "wire/options.h"
#include "wire/tls_stream.h"

namespace outpace::wire {

// REQUIRES: the token is well formed.
[[nodiscard]] std::unique_ptr<ServerTransport> serve_streams(const ServeOptions& options,
                                                             std::unique_ptr<TlsContext> tls,
                                                             ServerTransport::Sink sink);

}  // namespace outpace::wire

// Tested by src/world/wire/transport_test.cc.

#include "wire/transports.h"

#include <utility>

#include "wire/address.h"
#include "wire/stream_client.h"
#include "wire/stream_server.h"
#include "wire/token_check.h"

namespace outpace::wire {
namespace {

// Null without TLS.
std::unique_ptr<TlsContext> tls_of(const std::string& address,
                                   const TlsFiles& files,
                                   TlsSide side) {
  const bool plain = address.starts_with(kUnixPrefix) || !files.any();
  return plain ? nullptr : std::make_unique<TlsContext>(files, side);
}

}  // namespace

std::unique_ptr<ServerTransport> serve(const ServeOptions& options, ServerTransport::Sink sink) {
  check_token(options.token);
  return serve_streams(
      options, tls_of(options.address, options.tls, TlsSide::kServer), std::move(sink));
}

std::unique_ptr<ClientTransport> connect(const ConnectOptions& options,
                                         ClientTransport::Sink sink) {
  check_token(options.token);
  check_address(options.address);
  return connect_stream(
      options, tls_of(options.address, options.tls, TlsSide::kWorker), std::move(sink));
}

Error error_of(const Closed& closed, const std::string& server) {
  return closed.refused ? Error(ExitCode::kAuthentication, closed.why)
                        : Error(ExitCode::kFailure, server + ": " + closed.why);
}

}  // namespace outpace::wire

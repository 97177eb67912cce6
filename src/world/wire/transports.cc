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
std::unique_ptr<TlsContext> tls_of(const ServeOptions& options) {
  const bool within = options.address.starts_with(kUnixPrefix) && options.beyond.empty();
  if (within || !options.tls.any()) {
    return nullptr;
  }
  return std::make_unique<TlsContext>(
      options.tls,
      TlsSide::kServer,
      options.passes == nullptr ? Uncertified::kRefused : Uncertified::kLetIn);
}

std::unique_ptr<TlsContext> tls_of(const ConnectOptions& options) {
  if (options.address.starts_with(kUnixPrefix)) {
    return nullptr;
  }
  if (const auto pass = parse_pass(options.token)) {
    return std::make_unique<TlsContext>(pass->authority);
  }
  return options.tls.any() ? std::make_unique<TlsContext>(options.tls, TlsSide::kWorker) : nullptr;
}

}  // namespace

std::unique_ptr<ServerTransport> serve(const ServeOptions& options, ServerTransport::Sink sink) {
  check_token(options.token);
  return serve_streams(options, tls_of(options), std::move(sink));
}

std::unique_ptr<ClientTransport> connect(const ConnectOptions& options,
                                         ClientTransport::Sink sink) {
  check_token(options.token);
  check_address(options.address);
  return connect_stream(options, tls_of(options), std::move(sink));
}

Error error_of(const Closed& closed, const std::string& server) {
  return closed.refused ? Error(ExitCode::kAuthentication, closed.why)
                        : Error(ExitCode::kFailure, server + ": " + closed.why);
}

}  // namespace outpace::wire

// Tested by src/live/transport_test.cc.

#include "live/transports.h"

#include <utility>

#include "live/grpc_transport.h"
#include "live/listen_check.h"
#include "live/token_check.h"
#include "live/unix_address.h"
#include "live/unix_transport.h"

namespace outpace::live {
namespace {

bool is_unix(const std::string& address) {
  return address.starts_with(kUnixPrefix);
}

}  // namespace

std::unique_ptr<ServerTransport> serve(const ServeOptions& options, ServerTransport::Sink sink) {
  check_token(options.token);
  check_listenable(options.address);
  return is_unix(options.address) ? serve_unix(options, std::move(sink))
                                  : serve_grpc(options, std::move(sink));
}

std::unique_ptr<ClientTransport> connect(const ConnectOptions& options,
                                         ClientTransport::Sink sink) {
  check_token(options.token);
  return is_unix(options.address) ? connect_unix(options, std::move(sink))
                                  : connect_grpc(options, std::move(sink));
}

}  // namespace outpace::live

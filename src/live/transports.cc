#include "live/transports.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "live/grpc_transport.h"
#include "live/listen_check.h"
#include "live/unix_address.h"
#include "live/unix_stream.h"
#include "live/unix_transport.h"

namespace outpace::live {
namespace {

constexpr std::size_t kTokenMax = kTokenRecordMax;

// What both transports can send.
void check_token(const std::string& token) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (token.empty() || !std::all_of(token.begin(), token.end(), printable)) {
    throw usage_error("the job's token must be printable ASCII without blanks, and not empty");
  }
  if (token.size() > kTokenMax) {
    throw usage_error("the job's token has more than " + std::to_string(kTokenMax) + " letters");
  }
}

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

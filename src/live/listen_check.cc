// Tested by src/live/transport_test.cc.

#include "live/listen_check.h"

#include <cerrno>
#include <memory>
#include <system_error>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "live/descriptor.h"
#include "live/unix_address.h"

namespace outpace::live {
namespace {

Descriptor stream_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

std::string words(int error_number) {
  return std::generic_category().message(error_number);
}

// A server deletes the socket that it finds: it must not be that of one that is alive.
std::string problem_with_path(const UnixAddress& name) {
  if (!name.fits()) {
    return "a socket's path has 1 to " + std::to_string(UnixAddress::kPathMax) + " bytes";
  }
  const std::string& path = name.path();
  const Descriptor socket = stream_socket(AF_UNIX);
  if (::connect(socket.number(), name.address(), UnixAddress::size()) == 0) {
    return "a server listens there already; choose another path";
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return "there is something else than a socket; choose another path";
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK) != 0) {
    return folder + ": " + words(errno);
  }
  return "";
}

std::string problem_with_binding(const addrinfo& candidate) {
  const Descriptor socket = stream_socket(candidate.ai_family);
  const int on = 1;
  // As gRPC does it: without this, a server that has just ended would look as if it still listened.
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.number(), candidate.ai_addr, candidate.ai_addrlen) == 0) {
    return "";
  }
  return errno == EADDRINUSE ? "the port is in use; choose another --listen, or port 0"
                             : words(errno);
}

std::string problem_with_host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return "expected HOST:PORT or unix:PATH";
  }
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* head = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &head);
  if (failed != 0) {
    return ::gai_strerror(failed);
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(head, ::freeaddrinfo);
  std::string problem;
  for (const addrinfo* candidate = found.get(); candidate != nullptr;
       candidate = candidate->ai_next) {
    problem = problem_with_binding(*candidate);
    if (problem.empty()) {
      break;  // One is enough for gRPC.
    }
  }
  return problem;
}

}  // namespace

void check_listenable(const std::string& address) {
  const std::string problem = address.starts_with(kUnixPrefix)
                                  ? problem_with_path(UnixAddress(address))
                                  : problem_with_host_and_port(address);
  if (!problem.empty()) {
    throw usage_error("cannot listen on " + address + ": " + problem);
  }
}

}  // namespace outpace::live

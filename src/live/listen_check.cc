#include "live/listen_check.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

namespace outpace::live {
namespace {

constexpr std::string_view kUnix = "unix:";

class Socket {
 public:
  explicit Socket(int family) : descriptor_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string words(int error_number) {
  return std::generic_category().message(error_number);
}

// gRPC would delete the socket of a server that is alive, and take its place.
std::string problem_with_path(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return "a socket's path has 1 to " + std::to_string(sizeof(name.sun_path) - 1) + " bytes";
  }
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  const Socket socket(AF_UNIX);
  if (::connect(socket.descriptor(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0) {
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
  const Socket socket(candidate.ai_family);
  const int on = 1;
  // As gRPC does it: without this, a server that has just ended would look as if it still listened.
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.descriptor(), candidate.ai_addr, candidate.ai_addrlen) == 0) {
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
  const std::string problem = address.starts_with(kUnix)
                                  ? problem_with_path(address.substr(kUnix.size()))
                                  : problem_with_host_and_port(address);
  if (!problem.empty()) {
    throw usage_error("cannot listen on " + address + ": " + problem);
  }
}

}  // namespace outpace::live

#include "wire/address.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/local_address.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

constexpr int kBacklog = 1024;
constexpr double kSilenceMost = 30'000.0;  // Seconds; the system takes little more.
constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr auto kToResolve = std::chrono::seconds(10);  // A name to listen at.

std::string words(int error_number) {
  return std::generic_category().message(error_number);
}
Error failure(const std::string& what) {
  return {ExitCode::kFailure, what};
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

// What every connection over TCP gets: no waiting for more to send, and an end if the other machine
// does not answer for `keep_alive`.
void tune(const Descriptor& socket, const Endpoint& endpoint, Duration keep_alive) {
  if (endpoint.is_unix()) {
    return;
  }
  set(socket.number(), IPPROTO_TCP, TCP_NODELAY, 1);
  keep_alive_for(socket.number(), keep_alive);
}

Descriptor stream_socket(int family) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.number() < 0) {
    throw failure(words(errno));
  }
  return socket;
}

Endpoint unix_endpoint(const std::string& address) {
  const std::string path = address.substr(kUnixPrefix.size());
  if (path.empty() || path.size() > kPathMax) {
    throw failure("a socket's path has 1 to " + std::to_string(kPathMax) + " bytes");
  }
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, kPathMax);
  Endpoint endpoint;
  std::memcpy(&endpoint.name, &name, sizeof(name));
  endpoint.size = sizeof(name);
  return endpoint;
}

struct HostAndPort {
  std::string host;
  std::string port;
};
HostAndPort host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    throw failure("expected HOST:PORT or unix:PATH");
  }
  if (!is_port(address.substr(colon + 1))) {
    throw failure("the port is a number from 0 to 65535");
  }
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {.host = std::move(host), .port = address.substr(colon + 1)};
}

// What getaddrinfo() found: endpoints, or its words.
struct Found {
  std::vector<Endpoint> endpoints;
  std::string problem;
};
Found ask_system(const HostAndPort& wanted, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* head = nullptr;
  const int failed = ::getaddrinfo(wanted.host.c_str(), wanted.port.c_str(), &hints, &head);
  if (failed != 0) {
    return {.endpoints = {}, .problem = ::gai_strerror(failed)};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(head, ::freeaddrinfo);
  Found out;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.name, each->ai_addr, each->ai_addrlen);
    endpoint.size = each->ai_addrlen;
    out.endpoints.push_back(endpoint);
  }
  return out;
}

// The system may ask other machines, and nothing ends that: its thread is left to itself at the
// deadline.
Found look_up(const HostAndPort& wanted, int flags, steady_clock::time_point deadline) {
  Found found = ask_system(wanted, flags | AI_NUMERICHOST);
  if (found.problem.empty()) {
    return found;
  }
  const auto promise = std::make_shared<std::promise<Found>>();
  std::future<Found> answer = promise->get_future();
  std::thread([wanted, flags, promise] { promise->set_value(ask_system(wanted, flags)); }).detach();
  if (answer.wait_until(deadline) != std::future_status::ready) {
    return {.endpoints = {}, .problem = "the system did not say its address in time"};
  }
  return answer.get();
}

// A server deletes the socket that it finds: it must not be that of one that is alive.
void clear_path(const Endpoint& endpoint, const std::string& path) {
  if (::connect(stream_socket(AF_UNIX).number(), endpoint.address(), endpoint.size) == 0) {
    throw failure("a server listens there already; choose another path");
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    throw failure("there is something else than a socket; choose another path");
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK) != 0) {
    throw failure(folder + ": " + words(errno));
  }
  ::unlink(path.c_str());
}

Descriptor bind_to(const Endpoint& endpoint) {
  Descriptor socket = stream_socket(endpoint.name.ss_family);
  // Without this, a server that has just ended would look as if it still listened.
  set(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (endpoint.name.ss_family == AF_INET6) {
    set(socket.number(),
        IPPROTO_IPV6,
        IPV6_V6ONLY,
        0);  // The system's default, unless somebody changed it.
  }
  if (::bind(socket.number(), endpoint.address(), endpoint.size) != 0 ||
      ::listen(socket.number(), kBacklog) != 0) {
    throw failure(errno == EADDRINUSE ? "the port is in use; choose another --listen, or port 0"
                                      : words(errno));
  }
  return socket;
}

bool is_loopback(const Endpoint& endpoint) {
  if (endpoint.name.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(endpoint.name).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == IN_LOOPBACKNET);
  }
  const in_addr& address = reinterpret_cast<const sockaddr_in&>(endpoint.name).sin_addr;
  return ntohl(address.s_addr) >> 24U == IN_LOOPBACKNET;
}

std::string without_port(const std::string& text) {
  return text.substr(0, text.rfind(':'));
}

// The first address of an interface that is up and that `wanted` takes, preferably of IPv4; empty
// if there is none.
std::string first_address(const std::function<bool(const ifaddrs&)>& wanted) {
  ifaddrs* head = nullptr;
  if (::getifaddrs(&head) != 0) {
    return "";
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(head, ::freeifaddrs);
  std::string found;
  for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 || !wanted(*each)) {
      continue;
    }
    Endpoint endpoint;
    if (each->ifa_addr->sa_family == AF_INET) {
      endpoint.size = sizeof(sockaddr_in);
      std::memcpy(&endpoint.name, each->ifa_addr, endpoint.size);
      return without_port(endpoint.text());
    }
    if (each->ifa_addr->sa_family == AF_INET6 && found.empty()) {
      endpoint.size = sizeof(sockaddr_in6);
      std::memcpy(&endpoint.name, each->ifa_addr, endpoint.size);
      const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(endpoint.name).sin6_addr;
      found = IN6_IS_ADDR_LINKLOCAL(&address) ? "" : without_port(endpoint.text());
    }
  }
  return found;
}

// A name that means other machines, and is only this machine's loopback interface here.
void check_others_reach(const std::string& address, const std::vector<Endpoint>& endpoints) {
  if (is_local(address) || endpoints.empty() || !std::ranges::all_of(endpoints, is_loopback)) {
    return;
  }
  const std::string port = address.substr(address.rfind(':'));
  const std::string own =
      first_address([](const ifaddrs& each) { return (each.ifa_flags & IFF_LOOPBACK) == 0; });
  throw failure(without_port(address) + " is " + without_port(endpoints.front().text()) +
                " on this machine, where no other machine can connect; write --listen " +
                (own.empty() ? "with the address of a network of this machine" : own + port) +
                ", or --listen 127.0.0.1" + port + " to stay on this machine");
}

// IPv6 takes IPv4's connections too; a machine without IPv6 has IPv4's addresses alone.
std::vector<Endpoint> all_addresses(const std::string& port) {
  std::vector<Endpoint> endpoints;
  for (const char* host : {"::", "0.0.0.0"}) {
    const Found found = ask_system({.host = host, .port = port}, AI_PASSIVE | AI_NUMERICHOST);
    endpoints.insert(endpoints.end(), found.endpoints.begin(), found.endpoints.end());
  }
  return endpoints;
}

Listener listen_on_port(const std::string& address, Reach reach) {
  const HostAndPort wanted = host_and_port(address);
  Found found;
  if (reach == Reach::kEverywhere) {
    found.endpoints = all_addresses(wanted.port);
  } else {
    found = look_up(wanted, AI_PASSIVE, steady_clock::now() + kToResolve);
    check_others_reach(address, found.endpoints);
  }
  std::string problem = found.problem;
  for (const Endpoint& endpoint : found.endpoints) {
    try {
      Descriptor socket = bind_to(endpoint);
      Endpoint bound;
      bound.size = sizeof(bound.name);
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&bound.name), &bound.size);
      const std::string text = bound.text();
      return {.socket = std::move(socket),
              .address = address.substr(0, address.rfind(':')) + text.substr(text.rfind(':'))};
    } catch (const Error& error) {
      problem = error.what();
    }
  }
  throw failure(problem);
}

}  // namespace

std::string Endpoint::text() const {
  if (is_unix()) {
    const auto& known = reinterpret_cast<const sockaddr_un&>(name);
    const bool named = size > offsetof(sockaddr_un, sun_path);
    return std::string(kUnixPrefix) + (named ? known.sun_path : "");
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(address(),
                    size,
                    host.data(),
                    host.size(),
                    port.data(),
                    port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 to a socket that takes both.
  const std::string_view numbers(host.data());
  if (numbers.starts_with(kMapped) && numbers.find('.') != std::string_view::npos) {
    return std::string(numbers.substr(kMapped.size())) + ":" + port.data();
  }
  const bool six = name.ss_family == AF_INET6;
  return (six ? "[" : "") + std::string(host.data()) + (six ? "]:" : ":") + port.data();
}

std::string address_of_interface(const std::string& name) {
  std::string found =
      first_address([&](const ifaddrs& each) { return std::string_view(each.ifa_name) == name; });
  if (found.empty()) {
    throw failure("the network interface " + name + " is not there, is down, or has no address");
  }
  return found;
}

void check_address(const std::string& address) {
  try {
    if (address.starts_with(kUnixPrefix)) {
      static_cast<void>(unix_endpoint(address));
    } else {
      static_cast<void>(host_and_port(address));
    }
  } catch (const Error& error) {
    throw usage_error(address + ": " + error.what());
  }
}

std::vector<Endpoint> resolve(const std::string& address, steady_clock::time_point deadline) {
  if (address.starts_with(kUnixPrefix)) {
    return {unix_endpoint(address)};
  }
  const HostAndPort wanted = host_and_port(address);
  Found found = look_up(wanted, 0, deadline);
  if (!found.problem.empty()) {
    throw failure(wanted.host + ": " + found.problem);
  }
  return found.endpoints;
}

Listener listen_on(const std::string& address, Reach reach) {
  try {
    if (!address.starts_with(kUnixPrefix)) {
      return listen_on_port(address, reach);
    }
    const Endpoint endpoint = unix_endpoint(address);
    clear_path(endpoint, address.substr(kUnixPrefix.size()));
    return {.socket = bind_to(endpoint), .address = address};
  } catch (const Error& error) {
    throw usage_error("cannot listen on " + address + ": " + error.what());
  }
}

// It is asked in the middle of that time, and twice more.
void keep_alive_for(int socket, Duration keep_alive) {
  const double silence = std::clamp(to_seconds(keep_alive), 1.0, kSilenceMost);
  const auto seconds = [](double count) { return std::max(1, static_cast<int>(count)); };
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds(silence / 2));
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds(silence / 4));
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(1e3 * silence));
}

Descriptor accept_from(const Descriptor& listener, Endpoint& peer, Duration keep_alive) {
  peer.size = sizeof(peer.name);
  Descriptor socket(::accept4(listener.number(),
                              reinterpret_cast<sockaddr*>(&peer.name),
                              &peer.size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.number() >= 0) {
    tune(socket, peer, keep_alive);
  }
  return socket;
}

Descriptor connect_to(const Endpoint& endpoint,
                      steady_clock::time_point deadline,
                      const Descriptor& waker,
                      Duration keep_alive) {
  Descriptor socket = stream_socket(endpoint.name.ss_family);
  tune(socket, endpoint, keep_alive);
  if (::connect(socket.number(), endpoint.address(), endpoint.size) == 0) {
    return socket;
  }
  if (errno != EINPROGRESS) {  // On a Unix socket also EAGAIN: its backlog is full.
    throw failure(words(errno));
  }
  std::array<pollfd, 2> wait = {pollfd{.fd = socket.number(), .events = POLLOUT, .revents = 0},
                                pollfd{.fd = waker.number(), .events = POLLIN, .revents = 0}};
  ::poll(wait.data(), wait.size(), milliseconds_until(deadline));
  if (wait[0].revents == 0) {
    throw failure("no answer");
  }
  int problem = 0;
  socklen_t size = sizeof(problem);
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) {
    throw failure(words(problem));
  }
  return socket;
}

std::optional<Duration> round_trip(const Descriptor& socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket.number(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return std::nullopt;
  }
  return std::chrono::microseconds(info.tcpi_rtt);
}

int milliseconds_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  constexpr std::int64_t kLongest = 1'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongest));
}

}  // namespace outpace::wire

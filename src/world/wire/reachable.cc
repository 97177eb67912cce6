// Tested by test/program/join_test.py.

#include "wire/reachable.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "wire/address.h"
#include "wire/descriptor.h"

namespace outpace::wire {
namespace {

// Numbers only, without a scope: a link-local address means nothing on another machine.
std::optional<std::string> host_of(const ifaddrs& one) {
  if (one.ifa_addr == nullptr || (one.ifa_flags & IFF_UP) == 0 ||
      (one.ifa_flags & IFF_LOOPBACK) != 0) {
    return std::nullopt;
  }
  Endpoint endpoint;
  if (one.ifa_addr->sa_family == AF_INET) {
    endpoint.size = sizeof(sockaddr_in);
  } else if (one.ifa_addr->sa_family == AF_INET6 &&
             !IN6_IS_ADDR_LINKLOCAL(
                 &reinterpret_cast<const sockaddr_in6*>(one.ifa_addr)->sin6_addr)) {
    endpoint.size = sizeof(sockaddr_in6);
  } else {
    return std::nullopt;
  }
  std::memcpy(&endpoint.name, one.ifa_addr, endpoint.size);
  const std::string text = endpoint.text();
  return text.substr(0, text.rfind(':'));
}

}  // namespace

std::vector<std::string> reachable_at(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  if (host != "0.0.0.0" && host != "[::]") {
    return {address};
  }
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      const auto reached = host_of(*one);
      if (reached && (host == "[::]" || !reached->starts_with('['))) {
        found.push_back(*reached + address.substr(colon));
      }
    }
    ::freeifaddrs(all);
  }
  return found.empty() ? std::vector{address} : found;
}

std::string address_towards(const std::string& server) {
  std::string why = "it has no address";
  for (const Endpoint& endpoint :
       resolve(server, std::chrono::steady_clock::now() + std::chrono::seconds(10))) {
    const Descriptor probe(::socket(endpoint.name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    Endpoint own;
    own.size = sizeof(own.name);
    if (::connect(probe.number(), endpoint.address(), endpoint.size) == 0 &&
        ::getsockname(probe.number(), reinterpret_cast<sockaddr*>(&own.name), &own.size) == 0) {
      const std::string text = own.text();
      return text.substr(0, text.rfind(':'));
    }
    why = std::strerror(errno);
  }
  throw Error(ExitCode::kFailure, server + ": " + why);
}

}  // namespace outpace::wire

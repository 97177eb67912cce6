// Addresses as people write them, "unix:PATH" or "HOST:PORT", and the sockets behind them.
//
// The system resolves names (getaddrinfo), so /etc/hosts, DNS and whatever else it knows count.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/time.h"
#include "wire/descriptor.h"

namespace outpace::wire {

inline constexpr std::string_view kUnixPrefix = "unix:";

// A TCP connection ends if the other machine has not answered for this long.
inline constexpr Duration kKeepAlive = std::chrono::seconds(20);

// One address of the system.
struct Endpoint {
  sockaddr_storage name{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&name); }
  [[nodiscard]] bool is_unix() const { return name.ss_family == AF_UNIX; }
  // "10.0.0.1:4000", "[::1]:4000", "unix:/path"; of a client on a Unix socket "unix:".
  [[nodiscard]] std::string text() const;
};

// The address of a network interface such as eth0: "10.0.0.1", "[fd00::1]". Throws an Error if it
// has none.
[[nodiscard]] std::string address_of_interface(const std::string& name);

// Throws a usage error that begins with the address, if it is neither HOST:PORT nor unix:PATH:
// waiting for it would be no use.
void check_address(const std::string& address);
// All endpoints of an address. Throws an Error if it is not well formed, if its name is unknown, or
// if the system has not said by the deadline.
[[nodiscard]] std::vector<Endpoint> resolve(const std::string& address,
                                            std::chrono::steady_clock::time_point deadline);

struct Listener {
  Descriptor socket;                 // Does not block.
  std::string address;               // As given, with the port that it got.
  Duration keep_alive = kKeepAlive;  // For the connections that it accepts.
};
enum class Reach : std::uint8_t {
  kAddress,     // Listens at the address alone.
  kEverywhere,  // Listens at all addresses of this machine. The host of the address is only its
                // name.
};
// Throws a usage error, "cannot listen on 127.0.0.1:4000: the port is in use; choose another
// --listen, or port 0", if the address is taken, not ours or not well formed. So does a name that
// leads other machines here, but is the loopback interface on this one (Debian's /etc/hosts maps a
// machine's own name to 127.0.1.1): nobody could connect.
[[nodiscard]] Listener listen_on(const std::string& address, Reach reach = Reach::kAddress);

// The next connection's socket, which does not block; negative if there is none.
[[nodiscard]] Descriptor accept_from(const Descriptor& listener,
                                     Endpoint& peer,
                                     Duration keep_alive = kKeepAlive);

// A connected socket that does not block. Throws an Error with the system's words if the endpoint
// cannot be reached by the deadline. `waker` ends the wait when it can be read.
[[nodiscard]] Descriptor connect_to(const Endpoint& endpoint,
                                    std::chrono::steady_clock::time_point deadline,
                                    const Descriptor& waker,
                                    Duration keep_alive = kKeepAlive);

// Changes for how long the other machine of a TCP connection may not answer.
void keep_alive_for(int socket, Duration keep_alive);

// How long the system's first packet took to the other side and back; nothing on a Unix socket.
[[nodiscard]] std::optional<Duration> round_trip(const Descriptor& socket);

// Milliseconds until then, rounded up, for poll(); 0 if it has passed.
[[nodiscard]] int milliseconds_until(std::chrono::steady_clock::time_point deadline);

}  // namespace outpace::wire

// Where other machines reach a server of this one.

#pragma once

#include <string>
#include <vector>

namespace outpace::wire {

// The address that it listens at; for all addresses of this machine (0.0.0.0, [::]) each of them,
// but for the loopback interface's and those that mean something on one link alone.
[[nodiscard]] std::vector<std::string> reachable_at(const std::string& address);

// This machine's own address on its way to that server, without a port: "10.0.0.7", "[fd00::7]".
// Nothing is sent. Throws an Error if there is no way to it.
[[nodiscard]] std::string address_towards(const std::string& server);

}  // namespace outpace::wire

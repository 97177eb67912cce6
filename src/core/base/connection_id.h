// Names one connection to a server or host, from its first message until it has closed. A new
// connection has a new number, so that what comes late over an old one is told apart.

#pragma once

#include <cstdint>

namespace outpace {

enum class ConnectionId : std::uint64_t {};

}  // namespace outpace

// The two ways of a message between a worker and the server.

#pragma once

#include <cstdint>

namespace outpace::sim {

enum class Way : std::uint8_t { kToServer, kToWorker };

}  // namespace outpace::sim

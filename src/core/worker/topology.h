// How the workers of a job are joined up.

#pragma once

#include <cstdint>

namespace outpace::worker {

enum class Topology : std::uint8_t { kServer, kRing, kGossip };

}  // namespace outpace::worker

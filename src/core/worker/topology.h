// How the workers of a job are joined up.

#pragma once

#include <cstdint>

namespace outpace::worker {

enum class Topology : std::uint8_t { kServer, kRing, kGossip };

// How the workers of a gossip average their weights; collective/meetings.h says it in full.
enum class Averaging : std::uint8_t {
  kCoupled,  // Two meet in the middle; each gradient goes with one meeting.
  kFree,     // The same, but no gradient waits for a meeting.
  kPull,     // One moves to the middle; each gradient goes with one pull.
  kPush,     // One sends, the other moves; each gradient goes with one push.
  kElastic,  // All move towards one centre, and it towards them (EASGD).
};

}  // namespace outpace::worker

// How the workers of a gossip average their weights. A file of this folder for each says who says
// what: coupled.h, pull.h, push.h, elastic.h.

#pragma once

#include <cstdint>

namespace outpace::peer {

enum class Averaging : std::uint8_t {
  kCoupled,  // Two meet in the middle; each gradient goes with one meeting.
  kFree,     // The same, but no gradient waits for a meeting.
  kPull,     // One moves to the middle; each gradient goes with one pull.
  kPush,     // One sends, the other moves; each gradient goes with one push.
  kElastic,  // All move towards one centre, and it towards them (EASGD).
};

// Whether two workers that meet both move; then they form two sides (worker/neighbour.h).
[[nodiscard]] constexpr bool both_move(Averaging averaging) {
  return averaging == Averaging::kCoupled || averaging == Averaging::kFree;
}

// The rank of the worker that holds the centre.
inline constexpr std::uint32_t kCentre = 0;

}  // namespace outpace::peer

// Measures what workers without a server cost each other on the processor, without a network: two
// members in this process sum numbers over loopback, as a ring does, and meet, as a gossip does.

#pragma once

#include <cstddef>

namespace outpace::collective {

struct PeerCost {
  double message_seconds;  // A step of the ring: an empty message to the neighbour.
  double byte_seconds;     // In addition, of each byte that goes once around.
  // Half of a meeting of two workers of one weight each: to ask, and to exchange.
  double meeting_message_seconds;
};

// Medians over `repeats` sums of one number and of `numbers` float32, and the mean over as many
// meetings, each after a pause of 10 ms.
// Throws Error if loopback fails. REQUIRES: both counts at least 1.
[[nodiscard]] PeerCost measure_peer_cost(std::size_t numbers, std::size_t repeats);

}  // namespace outpace::collective

// One simulated worker of a ring or a gossip: the machines of core/peer, and what the driver knows.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "invariants/peers.h"
#include "peer/gossip.h"
#include "peer/membership.h"
#include "peer/ring.h"
#include "peers/event.h"
#include "worker/neighbour.h"

namespace outpace::peers {

// Members are few, and read best in this order.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Member {
  // The process.
  bool alive = true;
  Time died{};
  Time paused_until{};
  bool fenced = false;  // The host counts it as lost: it ends when it wakes up.
  // The group.
  peer::Membership membership;
  std::uint32_t joining = 0;  // Generation; 0: it waits for no others to connect.
  std::uint32_t group = 0;    // That it is connected in; 0: none.
  bool stopping = false;      // The host said stop.
  bool said_goodbye = false;  // In a gossip.
  // Its gradients.
  std::uint64_t computations = 0;  // The newest; an older one counts for nothing.
  bool computes = false;
  std::uint64_t iteration = 0;
  // In a gossip.
  std::optional<peer::Gossip> gossip;
  std::optional<worker::Neighbours> neighbours;
  std::vector<peer::Await> awaits;
  std::vector<peer::Await> early;  // Came before it was awaited.
  bool waits = false;              // With a gradient that is ready.
  Time waits_since{};
  // In a ring.
  std::optional<peer::Ring> ring;
  peer::Ring::Compute term{};
  invariants::SumId newest_sum{};  // That it has applied.
  bool newest_votes = false;
  bool sums = false;                   // It waits for the sum of its term.
  std::optional<WorkerId> catches_up;  // It waits for a sum from this one.
};

}  // namespace outpace::peers

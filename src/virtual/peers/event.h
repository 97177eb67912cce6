// What happens in a simulated run without a server. Plain data.

#pragma once

#include <cstdint>

#include "peer/conversation.h"

namespace outpace::peers {

struct Event {
  enum class Kind : std::uint8_t {
    kFault,     // `number`: its place in the list.
    kComputed,  // The worker's gradient is ready. `number`: which computation.
    kJoined,    // All members of the group are connected.
    kSummed,    // The sum that makes version `number` is complete, on this worker.
    kKnock,     // A message of `from`, as the next three.
    kCame,
    kHandsOn,  // The sum that makes version `number`, of generation `other`.
    kClosed,   // The connection.
    kAsked,    // The host's word, as the next three: leave the groups before this one.
    kGroup,
    kStop,
    kStands,  // To the host, as the next three: the worker is at version `number`.
    kReport,  // It applied a gradient of `number` examples.
    kGoodbye,
    kGone,    // The connection to the host is closed.
    kSilent,  // The host has not heard the worker for too long.
    kWakes,   // A worker that stood still.
    kTimeUp,
    kLook,  // Whether the run still goes on.
  };

  Kind kind;
  std::uint32_t worker = 0;
  std::uint32_t from = 0;
  std::uint32_t generation = 0;
  std::uint32_t other = 0;
  std::uint64_t number = 0;
  peer::Say what = peer::Say::kCame;
  bool flag = false;  // kKnock: as invited. kSummed and kHandsOn: votes.
};

[[nodiscard]] const char* to_words(Event::Kind kind);

}  // namespace outpace::peers

// One input of the admission, as a value: what a driver fed to it. For observers, which hold the
// effects that follow to it.

#pragma once

#include <cstdint>
#include <variant>

#include "base/connection_id.h"
#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::admission {

struct WorkerGreets {
  ConnectionId peer;
  WorkerId worker;
  std::uint64_t process;
  protocol::Manifest network;
};
struct EvaluatorGreets {
  ConnectionId peer;
  protocol::Manifest network;
};
// It says goodbye.
struct WorkerLeaves {
  ConnectionId peer;
};
struct ConnectionEnds {
  ConnectionId peer;
};
struct RunEnds {};

using Input = std::variant<WorkerGreets, EvaluatorGreets, WorkerLeaves, ConnectionEnds, RunEnds>;

}  // namespace outpace::admission

// One input of the coordinator, as a value: what a driver fed to it. For observers, which hold the
// effects that follow to it.

#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::server {

struct JoinInput {
  WorkerId worker;
  std::uint32_t incarnation;
};
struct LeaveInput {
  WorkerId worker;
  std::uint32_t incarnation;
};
struct PushInput {
  protocol::GradientId id;
  std::uint32_t examples;
  bool finite;
  bool filtered = false;
};
struct AbandonInput {
  protocol::GradientId id;
};
struct HeartbeatInput {
  WorkerId worker;
  std::uint32_t incarnation;
};
// Not from a worker: time passed, an accuracy was measured, or no worker will join any more.
struct OtherInput {};

using Input =
    std::variant<JoinInput, LeaveInput, PushInput, AbandonInput, HeartbeatInput, OtherInput>;

}  // namespace outpace::server

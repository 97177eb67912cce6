// What a driver tells the coordinator, as a value: for whoever watches the two.

#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::server {

struct ToldJoin {
  WorkerId worker;
  std::uint32_t incarnation;
};
struct ToldLeave {
  WorkerId worker;
  std::uint32_t incarnation;
};
struct ToldPush {
  protocol::GradientId id;
  std::uint32_t examples;
  bool finite;
  bool filtered = false;
};
struct ToldAbandoned {
  protocol::GradientId id;
};
struct ToldHeard {  // A heart beat.
  WorkerId worker;
  std::uint32_t incarnation;
};
// Time passed, an accuracy was measured, nobody will come: nothing that a worker said.
struct ToldOther {};

using Told = std::variant<ToldJoin, ToldLeave, ToldPush, ToldAbandoned, ToldHeard, ToldOther>;

}  // namespace outpace::server

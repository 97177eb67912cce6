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
};
struct ToldAbandoned {
  protocol::GradientId id;
};
// Time passed, a heart beat, an accuracy was measured, nobody will come: nothing of a worker's
// own that changes what it has.
struct ToldOther {};

using Told = std::variant<ToldJoin, ToldLeave, ToldPush, ToldAbandoned, ToldOther>;

}  // namespace outpace::server

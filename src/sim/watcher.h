// Sees everything in a simulated cluster, and changes nothing: for what holds a run to account.
// Whatever it throws ends the run at that point.

#pragma once

#include <cstdint>

#include "base/time.h"
#include "server/coordinator.h"
#include "server/effects.h"
#include "server/shard.h"
#include "server/told.h"

namespace outpace::sim {

class Watcher {
 public:
  virtual ~Watcher() = default;

  // The coordinator was told this, and asks for these effects, none of which is carried out yet.
  virtual void answered(Time now, const server::Told& told, const server::Effects& effects) = 0;
  // An event is over, with all that followed from it at once. True ends the run, as done. `shard`
  // is null without learning.
  [[nodiscard]] virtual bool after(Time now,
                                   const server::Coordinator& coordinator,
                                   const server::Shard* shard) = 0;
};

}  // namespace outpace::sim

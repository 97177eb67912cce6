// Observes a simulated cluster and changes nothing, so that a test can check a run while it goes
// on. An exception that it throws ends the run at that point.

#pragma once

#include <cstdint>

#include "admission/effects.h"
#include "admission/input.h"
#include "base/time.h"
#include "server/coordinator.h"
#include "server/effects.h"
#include "server/input.h"
#include "server/shard.h"

namespace outpace::sim {

class ClusterObserver {
 public:
  virtual ~ClusterObserver() = default;

  // The coordinator answered `input` with `effects`. None of them is carried out yet.
  virtual void answered(Time now, const server::Input& input, const server::Effects& effects) = 0;
  // A peer greets, or its connection ends.
  virtual void greeted(Time now, const admission::Input& input) = 0;
  // The admission's effect, which is not carried out yet.
  virtual void admitted(Time now, const admission::Effect& effect) = 0;
  // An event is over, with everything that followed from it at once. True ends the run, as done.
  // `shard` is null without learning.
  [[nodiscard]] virtual bool after(Time now,
                                   const server::Coordinator& coordinator,
                                   const server::Shard* shard) = 0;
  // Another server has gone on from what the last TakeCheckpoint kept, or from the beginning if
  // there was none. Nobody has joined it yet.
  virtual void restarted(Time now) = 0;
};

}  // namespace outpace::sim

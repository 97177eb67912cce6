// A gradient comes in, as every driver has it: the shard holds it, and judges it if it answers its
// worker's open release. One that comes again, or too late, the filter would learn wrong things
// from.

#pragma once

#include <utility>
#include <vector>

#include "protocol/messages.h"
#include "server/coordinator.h"
#include "server/shard.h"
#include "update/judgement.h"

namespace outpace::server {

// REQUIRES: gradient.size() == shard.weights().size().
[[nodiscard]] inline update::Judgement receive(Shard& shard,
                                               const Coordinator& coordinator,
                                               const protocol::Push& push,
                                               std::vector<float> gradient) {
  if (!shard.hold(push.id.worker, std::move(gradient))) {
    return update::Judgement::kNotFinite;
  }
  return shard.judges() && coordinator.awaits(push.id)
             ? shard.judge(push.id.worker, coordinator.computing())
             : update::Judgement::kSound;
}

}  // namespace outpace::server

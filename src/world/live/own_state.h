// What a worker has of its own from push to push: what its optimizer of local steps remembers, and
// what packing its pushes has left behind. It is lost with the process, unless it is kept.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/archive.h"
#include "base/ids.h"
#include "live/push_packer.h"
#include "protocol/messages.h"
#include "update/local_phase.h"

namespace outpace::live {

struct OwnState {
  update::LocalPhase* phase = nullptr;  // Null: there are no local steps.
  PushPacker* packer = nullptr;         // Null: nothing is packed.

  [[nodiscard]] bool steps_remember() const { return phase != nullptr && phase->remembers(); }
  [[nodiscard]] bool packing_remembers() const { return packer != nullptr && packer->remembers(); }
  [[nodiscard]] bool remembers() const { return steps_remember() || packing_remembers(); }
  // For people: whose state it is.
  [[nodiscard]] std::string name() const;
  void keep(Archive& archive) const;
};

// Where it is kept.
struct StateKeeper {
  enum class When : std::uint8_t {
    kAfterPush,    // A gradient of this version was pushed: the state may be kept.
    kAtCheckpoint  // The server keeps this version, before the gradient: the state is kept.
  };
  // Null: it is lost when the process ends.
  std::function<void(const protocol::Welcome&, Version, When, const OwnState&)> keep = nullptr;
  // Takes up what was kept, and returns the version: the one at which the job has come back, if the
  // server kept that; else the newest; nothing if nothing of this job was. Null as the other is.
  std::function<std::optional<Version>(const protocol::Welcome&, Version, const OwnState&)>
      take_up = nullptr;
};

// The run has gone on before this process came, to update `at`: takes up what was kept, and says on
// stderr what goes on and what begins anew.
void take_up(const StateKeeper& keeper,
             const protocol::Welcome& welcome,
             WorkerId worker,
             Version at,
             const OwnState& state);

}  // namespace outpace::live
